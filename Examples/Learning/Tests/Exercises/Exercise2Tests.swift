import Foundation
import Purl
import PurlTesting
import Testing

@testable import LearningExercises

@Suite("Exercise 2: a delegate that checks a link", .timeLimit(.minutes(1)))
struct Exercise2Tests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer(.memory)
    }

    private func state(of url: URL) async -> LinkState {
        let configuration = Exercises.configuration(for: server)
        return await withCheckedContinuation { continuation in
            let end: @Sendable (LinkState) -> Void = { continuation.resume(returning: $0) }
            let delegate: any URLSessionDataDelegate = Exercises.areMine ? Exercise2(end) : Solution2(end)
            let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
            session.dataTask(with: url).resume()
            session.finishTasksAndInvalidate()
        }
    }

    @Test("A link is fine as soon as the head is there, though the body breaks off")
    func fine() async {
        let url = server.route("/page", .generated(size: 100_000).contentType("text/html").cut(afterBytes: 10))
        #expect(
            await state(of: url) == .fine(type: "text/html"),
            "The head of a success is enough: the link is fine, and has the type that the head names.")
    }

    @Test("A status that is not a success is a broken link", arguments: [404, 410, 503])
    func broken(_ status: Int) async {
        let url = server.route("/page", .text("sorry").status(status))
        #expect(
            await state(of: url) == .broken(status: status),
            "A response with the status \(status) means a broken link.")
    }

    @Test("A redirect is reported, and not followed")
    func moved() async {
        let target = server.route("/new", .text("here"))
        let url = server.route("/old", .redirect(301, to: "/new"))
        #expect(
            await state(of: url) == .moved(to: target),
            "A redirect is reported with the URL that it leads to.")
        #expect(
            server.requests.map(\.path) == ["/old"],
            "The delegate declines the redirect, so that nothing else is requested.")
    }

    @Test("A connection that closes before the head makes a link unreachable")
    func unreachable() async {
        let url = server.route("/page", .raw(""))
        #expect(
            await state(of: url) == .unreachable(.networkConnectionLost),
            "Without a head the link is unreachable, for the reason that ended the task.")
    }
}
