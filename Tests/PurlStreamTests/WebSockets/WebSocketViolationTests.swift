import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Violations of the WebSocket protocol by the server", .timeLimit(.minutes(5)))
struct WebSocketViolationTests {
    static let violations: [(String, [UInt8], Int, URLError.Code)] = [
        ("a reserved bit", [0xC1, 0x00], 1002, .badServerResponse),
        ("a reserved opcode", [0x83, 0x00], 1002, .badServerResponse),
        ("a mask", [0x81, 0x81, 1, 2, 3, 4, 5], 1002, .badServerResponse),
        ("a ping in fragments", [0x09, 0x00], 1002, .badServerResponse),
        ("a long ping", [0x89, 0x7E, 0x00, 0x7E], 1002, .badServerResponse),
        ("a continuation of nothing", [0x80, 0x00], 1002, .badServerResponse),
        ("a length of 64 bits", [0x82, 0x7F, 0xFF, 0, 0, 0, 0, 0, 0, 0], 1002, .badServerResponse),
        ("half a close code", [0x88, 0x01, 0x03], 1002, .badServerResponse),
        ("a close code that is none", [0x88, 0x02, 0x03, 0xEC], 1002, .badServerResponse),
        ("text that is none", [0x81, 0x02, 0xC3, 0x28], 1007, .cannotDecodeRawData),
        ("a reason that is not a text", [0x88, 0x03, 0x03, 0xE8, 0xFF], 1007, .cannotDecodeRawData),
        ("more than is wanted", [0x82, 0x7E, 0x04, 0x01], 1009, .dataLengthExceedsMaximum),
        ("much more", [0x82, 0x7F, 0x7F, 0, 0, 0, 0, 0, 0, 0], 1009, .dataLengthExceedsMaximum),
        (
            "more in fragments", [0x02, 0x7E, 0x03, 0xFF] + [UInt8](repeating: 0, count: 1023) + [0x80, 0x02], 1009,
            .dataLengthExceedsMaximum
        ),
    ]

    @Test("A violation closes with its code, and fails the task after the earlier messages", arguments: violations)
    func violation(name: String, bytes: [UInt8], status: Int, code: URLError.Code) async throws {
        let stage = try await WebSocketStage(.listening.text("before").bytes(Data(bytes)).text("after"))
        let task = stage.session.webSocketTask(with: try stage.url())
        task.maximumMessageSize = 1024
        task.resume()
        #expect(try await task.receive().text == "before")
        await #expect(errorCode { _ = try await task.receive() } == code)
        await stage.witness.completion()
        #expect(stage.witness.events == [.opened(nil), .metrics(transactions: 1), .completed(code)])
        #expect(task.closeCode.rawValue == status)
        #expect(stage.witness.error?.failureSentence.isEmpty == false)
        let seen = await stage.server.waitForWebSocket { $0.ending != nil }
        #expect(seen?.closeCode == status)
        #expect(seen?.violation == nil)
    }

    @Test("A compressed message that exceeds the maximum size is refused")
    func bomb() async throws {
        let stage = try await WebSocketStage(.listening.compression().data(Data(count: 2 << 20)))
        let task = try stage.open()
        await #expect(errorCode { _ = try await task.receive() } == .dataLengthExceedsMaximum)
        let seen = await stage.server.waitForWebSocket { $0.ending != nil }
        #expect(seen?.closeCode == 1009)
    }

    @Test("A damaged compressed message is refused")
    func damagedCompression() async throws {
        let stage = try await WebSocketStage(.listening.compression().bytes(Data([0xC1, 0x02, 0xFF, 0xFF])))
        let task = try stage.open()
        await #expect(errorCode { _ = try await task.receive() } == .cannotDecodeContentData)
        let seen = await stage.server.waitForWebSocket { $0.ending != nil }
        #expect(seen?.closeCode == 1007)
    }

    @Test("maximumMessageSize is 1 MiB by default, and applies to the next message")
    func limits() async throws {
        let stage = try await WebSocketStage()
        let task = try stage.open()
        #expect(task.maximumMessageSize == 1 << 20)
        try await task.send(.data(Data(count: 1 << 20)))
        #expect(try await task.receive().data?.count == 1 << 20)
        task.maximumMessageSize = 2 << 20
        try await task.send(.data(Data(count: 2 << 20)))
        #expect(try await task.receive().data?.count == 2 << 20)
        try await task.send(.data(Data(count: (2 << 20) + 1)))
        await #expect(errorCode { _ = try await task.receive() } == .dataLengthExceedsMaximum)
        #expect(task.closeCode == .messageTooBig)
    }

    @Test("Frames after a close frame are ignored")
    func afterClose() async throws {
        let stage = try await WebSocketStage(.listening.close(1000).bytes(Data([0x81, 0x01, 0x61, 0xFF, 0xFF])))
        let task = try stage.open()
        await #expect(errorCode { _ = try await task.receive() } == .networkConnectionLost)
        await stage.witness.completion()
        #expect(stage.witness.events.last == .completed(nil))
        #expect(task.closeCode == .normalClosure)
    }
}
