import Foundation
import Testing

@testable import PurlIO

@Suite("A blocking socket waits on the caller's thread", .timeLimit(.minutes(5)))
struct BlockingSocketTests {
    /// Two connected ends, both detached from their loop.
    @NetworkActor
    private func pair() throws -> (BlockingSocket, BlockingSocket) {
        let (first, second) = try StreamSocket.pair()
        return (try first.detach(), try second.detach())
    }

    private func receive(_ count: Int, from socket: BlockingSocket) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: count)
        let result = buffer.withUnsafeMutableBytes { bytes in
            Result { () throws(SystemError) -> Int in try socket.receive(into: bytes) }
        }
        return Array(buffer.prefix(try result.get()))
    }

    private func send(_ bytes: [UInt8], to socket: BlockingSocket) throws -> Int {
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemError) -> Int in try socket.send(bytes) }
        }.get()
    }

    @Test func aDetachedSocketIsClosedForItsLoop() async throws {
        let isOpen = try await { @NetworkActor in
            let (first, _) = try StreamSocket.pair()
            let kept = try first.detach()
            _ = kept.isWritable
            #expect(throws: SystemError.self) { _ = try first.detach() }
            return first.isOpen
        }()
        #expect(!isOpen)
    }

    @Test func bytesArriveAsTheyWereSent() async throws {
        let (first, second) = try await pair()
        #expect(first.isWritable && !second.isReadable)
        #expect(try send([1, 2, 3], to: first) == 3)
        #expect(second.isReadable && !second.isAtEnd)
        #expect(try receive(2, from: second) == [1, 2])
        #expect(try receive(2, from: second) == [3])
        first.shutdownWrite()
        #expect(second.isReadable && second.isAtEnd)
        #expect(try receive(2, from: second) == [])
    }

    @Test func receivingWaitsForBytesOrTheEndOfTheStream() async throws {
        let (first, second) = try await pair()
        async let one = Task.detached { try receive(1, from: second) }.value
        #expect(try send([7], to: first) == 1)
        #expect(try await one == [7])
        async let none = Task.detached { try receive(1, from: second) }.value
        second.shutdownRead()
        #expect(try await none == [])
    }

    @Test func sendingToAShutDownEndIsAnErrorAndNotASignal() async throws {
        let (first, second) = try await pair()
        second.shutdownRead()
        #expect(throws: SystemError.self) { while try send([1], to: first) > 0 {} }
    }
}
