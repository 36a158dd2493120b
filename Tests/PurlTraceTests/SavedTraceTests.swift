import Foundation
import Purl
import PurlTrace
import Testing

@Suite("Saved traces")
struct SavedTraceTests {
    private static func saved(version: String, events: String, more: String = "") -> Data {
        Data(
            "{\"version\":\(version),\"startDate\":0,\"events\":[\(events)],\"droppedEvents\":0,\"droppedBytes\":0\(more)}"
                .utf8)
    }

    private static let future = """
        {"nanoseconds":1,"lane":"network","task":2,"kind":{"teleported":{"to":{"host":"a.example"}}}},\
        {"nanoseconds":2,"lane":"orbit","task":2,"kind":{"requestEnd":{}}},\
        {"nanoseconds":3,"lane":"network","task":2,"kind":{"cache":{"_0":"revalidateLater"}}},\
        {"nanoseconds":4,"lane":"network","task":2,"mood":"good","kind":{"redirect":{"url":"/b","hops":3}}}
        """

    @Test(
        "A trace of a later version opens: its new events, lanes and values are unknown events, new fields are left out"
    )
    func later() throws {
        let recording = try TransferTrace.Recording(
            json: Self.saved(version: "3", events: Self.future, more: ",\"machine\":{\"cores\":2}"))
        #expect(
            recording.events.map(\.kind) == [
                .unknown(name: "teleported"), .unknown(name: "requestEnd"), .unknown(name: "cache"),
                .redirect(url: "/b"),
            ])
        #expect(recording.events.map(\.nanoseconds) == [1, 2, 3, 4] && recording.events.allSatisfy { $0.task == 2 })
        #expect(TextTrace(recording).text.contains("task 2  network   unknown event “teleported”\n"))
        #expect(Diagram(recording).svg.contains("unknown event “teleported”"))
        #expect(try TransferTrace.Recording(json: recording.json) == recording)
    }

    @Test("A trace of an earlier version opens: its records do not say for how many bytes")
    func earlier() throws {
        let event = "{\"nanoseconds\":4,\"lane\":\"files\",\"kind\":{\"file\":{\"_0\":{\"record\":{}}}}}"
        let recording = try TransferTrace.Recording(json: Self.saved(version: "1", events: event))
        #expect(recording.events.map(\.kind) == [.file(.record(bytes: nil))])
    }

    @Test("A field that this version does not know is left out in its own version, too")
    func fields() throws {
        let event = "{\"nanoseconds\":4,\"lane\":\"network\",\"mood\":\"good\",\"kind\":{\"requestEnd\":{\"x\":1}}}"
        let recording = try TransferTrace.Recording(json: Self.saved(version: "2", events: event))
        #expect(recording.events == [TransferTrace.Event(nanoseconds: 4, lane: .network, kind: .requestEnd)])
    }

    static let damaged: [(Data, String)] = [
        (Data(), "it is not JSON of a trace"), (Data("[]".utf8), "it is not JSON of a trace"),
        (Data("{\"version\":1,\"events\":[".utf8), "it is not JSON of a trace"),
        (Data("{}".utf8), "“version” is missing"),
        (Data("{\"version\":1}".utf8), "“startDate” is missing"),
        (saved(version: "0", events: ""), "“version” is less than 1"),
        (saved(version: "\"1\"", events: ""), "“version” has a value that cannot be read"),
        (saved(version: "1", events: future), "“events[0].kind” has a value that cannot be read"),
        (
            saved(version: "1", events: "{\"nanoseconds\":0,\"lane\":\"network\",\"kind\":{\"redirect\":{}}}"),
            "“events[0].kind.redirect.url” is missing"
        ),
        (
            saved(version: "3", events: "{\"lane\":\"network\",\"kind\":{\"new\":{}}}"),
            "“events[0].nanoseconds” is missing"
        ),
        (
            saved(version: "3", events: "{\"nanoseconds\":0,\"kind\":7}"),
            "“events[0].kind” has a value that cannot be read"
        ),
    ]

    @Test("A damaged trace fails with a sentence about its place", arguments: damaged)
    func damage(json: Data, reason: String) throws {
        let error = #expect(throws: DamagedRecording.self) { try TransferTrace.Recording(json: json) }
        #expect(error?.localizedDescription == "The trace cannot be read: \(reason).")
    }
}
