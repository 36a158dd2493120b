internal import Foundation
internal import Purl
internal import PurlTesting

/// What can be wrong with a stream, and what users do to one.
extension Fault {
    static let streams: [Fault] = [
        stream("that ends before it has begun", .success(status: 200, Data())) { _ in
            .listening.expect(question).finish()
        },
        stream("that ends in the middle", .success(status: 200, half)) {
            // What was sent and is not read at the end would reset the connection: of a secure one, the client's last record.
            .listening.expect(question).waitForEnd().send($0.half).cut()
        },
        stream("whose server sends everything before it is asked", .success()) { .listening.send($0.content).finish() },
        stream("whose server ends it first", .success()) { stage in
            .listening.send(stage.content).finish().waitForEnd()
        },
        stream("that is reset when it was asked", .failure(.networkConnectionLost)) { _ in
            .listening.expect(question).reset()
        }.expecting(lost),
        stream("that is reset in the middle", .failure(.networkConnectionLost)) {
            .listening.expect(question).send($0.half).reset()
        }.expecting(lost),
        stalled("without an answer") { $0.script(waitingAfter: 0) },
        stalled("that stalls in the middle") { $0.script(waitingAfter: half.count) },
        stalled("that does not end") { $0.script(waitingAfter: $0.content.size) },
        stalled("that is not read") { .listening.notReading(until: $0.gate).send($0.half).waitForEnd() },
        Fault("stream", "of a server that stalls before it switches", .failure(.timedOut)) { stage in
            stage.answer(stage.resource.stalled(at: .beforeHead, until: stage.gate))
        }.with { $0.script = { _ in nil } }
            .timed.only { _ in false }.withStreams { $0 == .becomingStream },
    ]

    /// Everything where a stream may stand.
    static let streamMeddling: [Fault] = Meddling.Act.allCases.flatMap { act in
        [("before the first byte", 0), ("in the middle", half.count), ("before the end", 40_000)].map { phase, count in
            stream("\(act.rawValue), \(phase)", act.ends ? .failure(.cancelled) : .success()) {
                $0.script(waitingAfter: count)
            }.with {
                $0.meddling = Meddling(act: act, moment: .atGate, opensGate: !act.ends)
            }.withStreams {
                // Captured streams do not learn how their task ends.
                act.fits($0) && !(act.ends && $0 == .captured)
            }
        }
    }

    private static let question = Stage.question

    /// The first half of the resource.
    private static let half = GeneratedContent(size: 40_000, seed: 9).bytes(0..<20_000)

    private static func stream(
        _ name: String, _ expectation: Expectation, _ script: @escaping @Sendable (Stage) -> StreamScript?
    ) -> Fault {
        Fault("stream", name, expectation) { _ in }.with { $0.script = script }.only { _ in false }.withStreams()
    }

    /// Nothing but the resource's own time-out ends it.
    private static func stalled(_ name: String, _ script: @escaping @Sendable (Stage) -> StreamScript?) -> Fault {
        stream(name, .failure(.timedOut), script)
            .configured { configuration, _ in configuration.timeoutIntervalForResource = 120 }
            .timed.with { $0.waitsForGate = true }.withStreams { $0 != .captured }
    }

    /// The reader of captured streams receives the failure; the task has completed.
    @Sendable private static func lost(_ kind: TaskKind) -> Expectation {
        kind == .captured ? .foreign : .failure(.networkConnectionLost)
    }
}

extension Stage {
    fileprivate var half: Data { content.bytes(0..<20_000) }
}
