import Foundation
import Purl
import PurlTesting
import Testing

@testable import LearningExercises

@Suite("Exercise 5: several bodies in one file", .timeLimit(.minutes(1)))
struct Exercise5Tests {
    /// Loads each of the replies in its turn, and returns what is in the file then.
    private func collect(_ replies: [Reply], into file: TestFile) async throws -> String {
        let server = try LoopbackServer(.memory)
        let configuration = Exercises.configuration(for: server)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let onEnd: @Sendable () -> Void = { end.yield() }
        let delegate: any URLSessionDataDelegate =
            Exercises.areMine
            ? Exercise5(file: file.url, onEnd: onEnd) : Solution5(file: file.url, onEnd: onEnd)
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        var iterator = ends.makeAsyncIterator()
        for (number, reply) in replies.enumerated() {
            session.dataTask(with: server.route("/\(number)", reply)).resume()
            await iterator.next()
        }
        session.finishTasksAndInvalidate()
        return file.text
    }

    @Test("Two bodies stand one after the other")
    func two() async throws {
        let text = try await collect([.text("hello, "), .text("world")], into: TestFile())
        #expect(
            text == "hello, world",
            "The second body is appended to the first.")
    }

    @Test("An error page is not kept")
    func errorPage() async throws {
        let page = Reply.text("There is no such page.").status(404)
        let text = try await collect([.text("hello"), page], into: TestFile())
        #expect(
            text == "hello",
            "The body of a 404 is not written into the file.")
    }

    @Test("What the file held before stays in it")
    func before() async throws {
        let text = try await collect([.text("world")], into: TestFile("hello, "))
        #expect(
            text == "hello, world",
            "The body is appended to what the file held before.")
    }

    @Test("What arrives before the connection is lost is kept")
    func cut() async throws {
        let text = try await collect([.text("hello, "), .text("world").cut(afterBytes: 3)], into: TestFile())
        #expect(
            text == "hello, wor",
            "The bytes that arrived before the connection was lost stay in the file.")
    }
}
