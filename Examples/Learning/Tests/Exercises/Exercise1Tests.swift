import Foundation
import Purl
import PurlTesting
import Testing

@testable import LearningExercises

@Suite("Exercise 1: a delegate that counts", .timeLimit(.minutes(1)))
struct Exercise1Tests {
    private func count(_ reply: Reply) async throws -> PieceCount {
        let server = try LoopbackServer(.memory)
        let configuration = Exercises.configuration(for: server)
        let url = server.route("/text", reply)
        return await withCheckedContinuation { continuation in
            let end: @Sendable (PieceCount) -> Void = { continuation.resume(returning: $0) }
            let delegate: any URLSessionDataDelegate = Exercises.areMine ? Exercise1(end) : Solution1(end)
            let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
            session.dataTask(with: url).resume()
            session.finishTasksAndInvalidate()
        }
    }

    @Test("It counts the bytes of all pieces")
    func bytes() async throws {
        let count = try await count(.text("hello, world"))
        #expect(
            count.bytes == 12,
            "The pieces of “hello, world” have 12 bytes together.")
        #expect(
            count.pieces >= 1,
            "A body arrives in one piece at least, and each piece is counted.")
        #expect(
            count.isComplete,
            "A transfer that ends without an error is complete.")
    }

    @Test("A transfer that is cut off is not complete")
    func cut() async throws {
        let count = try await count(.text("hello, world").cut(afterBytes: 5))
        #expect(
            count == PieceCount(pieces: count.pieces, bytes: 5, isComplete: false),
            "Five bytes arrive before the connection is cut, and the transfer is not complete.")
    }
}
