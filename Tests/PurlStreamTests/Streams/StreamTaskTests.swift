import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Reads and writes of stream tasks", .timeLimit(.minutes(5)))
struct StreamTaskTests {
    @Test("Written bytes are read back from an echo server")
    func echo() async throws {
        let stage = try await StreamStage()
        let task = stage.open()
        try await task.write("hello")
        #expect(try await task.text(5) == "hello")
        #expect(task.countOfBytesSent == 5)
        #expect(task.countOfBytesReceived == 5)
    }

    @Test("A new task is suspended and has neither request nor response")
    func fresh() async throws {
        let stage = try await StreamStage()
        let task = stage.make()
        #expect(task.state == .suspended)
        #expect(task.originalRequest == nil)
        #expect(task.currentRequest == nil)
        #expect(task.response == nil)
        #expect(task.taskIdentifier == 1)
        task.taskDescription = "a stream"
        #expect(task.taskDescription == "a stream")
        #expect(await stage.session.allTasks.count == 1)
        #expect(stage.server.acceptedConnections == 0)
    }

    @Test("Reads and writes before resume wait for the connection")
    func early() async throws {
        let stage = try await StreamStage()
        let task = stage.make()
        let witness = stage.witness
        task.readData(ofMinLength: 5, maxLength: 5, timeout: 0) { data, _, _ in
            witness.append("read \(String(decoding: data ?? Data(), as: UTF8.self))")
        }
        task.write(Data("early".utf8), timeout: 0) { error in witness.append("wrote \(error == nil)") }
        task.resume()
        await witness.wait(for: .handler("read early"))
        #expect(witness.events == [.handler("wrote true"), .handler("read early")])
    }

    @Test("Reads are served in order, each with no more than its maximum")
    func order() async throws {
        let stage = try await StreamStage(.listening.send("abcdefghij"))
        let task = stage.open()
        #expect(try await task.text(3) == "abc")
        let (some, _) = try await task.readData(ofMinLength: 1, maxLength: 2, timeout: 0)
        #expect(some == Data("de".utf8))
        #expect(try await task.text(5) == "fghij")
    }

    @Test("The handlers of many reads and writes are called in order")
    func pipelined() async throws {
        let stage = try await StreamStage()
        let task = stage.open()
        let witness = stage.witness
        for number in 0..<2000 {
            task.write(Data(repeating: UInt8(number & 0xFF), count: 10), timeout: 0) { error in
                if error != nil { witness.append("write \(number) failed") }
            }
        }
        for number in 0..<2000 {
            let (bytes, _) = try await task.readData(ofMinLength: 10, maxLength: 10, timeout: 0)
            #expect(bytes == Data(repeating: UInt8(number & 0xFF), count: 10))
        }
        #expect(witness.events.isEmpty)
    }

    @Test("A minimum of zero waits for a byte, a maximum of zero for none")
    func nothing() async throws {
        let stage = try await StreamStage()
        let task = stage.open()
        #expect(try await task.readData(ofMinLength: 5, maxLength: 0, timeout: 0) == (Data(), false))
        #expect(try await task.readData(ofMinLength: -1, maxLength: -1, timeout: 0) == (Data(), false))
        try await task.write(Data(), timeout: 0)
        async let read = task.readData(ofMinLength: 0, maxLength: 100, timeout: 0)
        try await task.write("x")
        #expect(try await read == (Data("x".utf8), false))
    }

    @Test("The maximum takes precedence over the minimum")
    func smallMaximum() async throws {
        let stage = try await StreamStage(.listening.send("abcdef"))
        let task = stage.open()
        let (bytes, _) = try await task.readData(ofMinLength: 100, maxLength: 4, timeout: 0)
        #expect(bytes == Data("abcd".utf8))
    }

    @Test("Large content is transferred whole in both directions", arguments: [1 << 20, 20 << 20])
    func large(size: Int) async throws {
        let content = GeneratedContent(size: size, seed: 4)
        let stage = try await StreamStage(.listening.send(content).waitForEnd())
        let task = stage.open()
        async let writing: Void = task.write(content.data, timeout: 0)
        let (bytes, isLast) = try await task.readData(ofMinLength: size, maxLength: size, timeout: 0)
        #expect(content.matches(bytes ?? Data()) && bytes?.count == size)
        #expect(!isLast)
        try await writing
        task.closeWrite()
        let stream = await stage.stream { $0.hasEnded }
        #expect(stream?.byteCount == size)
        #expect(content.matches(stream?.bytes ?? Data()))
    }

    @Test("IPv6 addresses may have brackets", arguments: ["::1", "[::1]"])
    func ipv6(host: String) async throws {
        let stage = try await StreamStage(on: .ipv6)
        let task = stage.session.streamTask(withHostName: host, port: Int(stage.server.port)).resumed()
        try await task.write("six")
        #expect(try await task.text(3) == "six")
    }

    @Test("A host name is looked up")
    func name() async throws {
        let stage = try await StreamStage()
        let task = stage.session.streamTask(withHostName: "localhost", port: Int(stage.server.port)).resumed()
        try await task.write("name")
        #expect(try await task.text(4) == "name")
    }

    @Test("The connection limit does not apply to streams")
    func many() async throws {
        let stage = try await StreamStage { $0.httpMaximumConnectionsPerHost = 1 }
        let tasks = (0..<20).map { _ in stage.open() }
        for (number, task) in tasks.enumerated() {
            try await task.write(Data([UInt8(number)]), timeout: 0)
        }
        for (number, task) in tasks.enumerated() {
            #expect(try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 0).0 == Data([UInt8(number)]))
        }
        #expect(stage.server.openConnections == 20)
    }
}
