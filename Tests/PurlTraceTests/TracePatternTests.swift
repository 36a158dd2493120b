import Foundation
import Purl
import PurlTrace
import Testing

@Suite("Patterns of traces")
struct TracePatternTests {
    private static let progress = (1...2).map { TransferTrace.Arguments.progress(bytes: 1, total: $0, expected: 2) }

    private static let recording = TransferTrace.Recording(
        startDate: Date(timeIntervalSince1970: 0),
        events: [
            event(.caller, .call(.resume)),
            event(
                .network,
                .requestHead(
                    .init(url: "", method: "GET", target: "/a", fields: [.init("Range", "bytes=1-")], byteCount: 9))),
            event(.network, .interimHead(.init(status: 103, reason: "", fields: [], byteCount: 9))),
            event(.network, .responseHead(.init(status: 206, reason: "", fields: [], byteCount: 9))),
            event(.delegateQueue, .began(.init(number: 1, method: .didWriteData, arguments: progress[0]))),
            event(.delegateQueue, .ended(.init(number: 1, method: .didWriteData))),
            event(.delegateQueue, .began(.init(number: 2, method: .didWriteData, arguments: progress[1]))),
            event(.delegateQueue, .ended(.init(number: 2, method: .didWriteData))),
        ])

    private static func event(_ lane: TransferTrace.Lane, _ kind: TransferTrace.Kind) -> TransferTrace.Event {
        TransferTrace.Event(nanoseconds: 0, lane: lane, task: 1, kind: kind)
    }

    static let matching: [TracePattern] = [
        [.anything],
        [.anything, .anything],
        [.event(.call(.resume)), .sent(), .received(), .received(), .anything],
        [.event(.call(.resume), in: .caller), .sent(method: "GET", target: "/a", range: "bytes=1-"), .anything],
        [.anything, .received(status: 103), .received(status: 206), .anything],
        [
            .anything, .delegate(.didWriteData), .returned(.didWriteData), .delegate(.didWriteData),
            .returned(.didWriteData),
        ],
        [
            .anything, .delegate(.didWriteData, progress[0]), .anything, .delegate(.didWriteData, progress[1]),
            .anything,
        ],
        [.anything, .event(named: "the last") { $0.kind == recording.events.last?.kind }],
    ]

    @Test("A pattern has the events in order, with what it names of them", arguments: matching)
    func matches(pattern: TracePattern) {
        #expect(pattern.difference(from: Self.recording) == nil)
    }

    static let differing: [(TracePattern, String)] = [
        ([], "The trace continues after the end of the pattern:\n→ code      resume()\n"),
        (
            [.event(.call(.resume), in: .network)],
            "Step 1 of the pattern, “resume()”, is not in the trace here:\n→ code "
        ),
        (
            [.event(.call(.resume)), .sent(method: "PUT", target: "/a")],
            "Step 2 of the pattern, “sends PUT /a”, is not in the trace here:\n  code      resume()\n→ network   sends GET /a"
        ),
        (
            [.anything, .sent(), .anything, .received(status: 200)],
            "Step 4 of the pattern, “receives 200”, is not in the trace from here on:\n  code      resume()\n  network   sends"
        ),
        (
            [.anything, .delegate(.didWriteData, progress[1]), .anything, .delegate(.didWriteData, progress[0])],
            "Step 4 of the pattern, “begins didWriteData (1 byte, 1 of 2)”, is not in the trace from here on:\n"
        ),
        (
            [.anything, .returned(.didWriteData), .delegate(.didWriteData), .returned(.didWriteData), .sent()],
            "Step 5 of the pattern, “sends a request”, is not in the trace at its end:\n"
        ),
    ]

    @Test(
        "A step that the trace does not have is shown with its number and the events around its place",
        arguments: differing)
    func differs(pattern: TracePattern, beginning: String) throws {
        let difference = try #require(pattern.difference(from: Self.recording))
        #expect(difference.hasPrefix(beginning), "\(difference)")
    }
}
