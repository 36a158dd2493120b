import Foundation
import Purl
import PurlTesting
import Testing

@testable import LearningExercises

@Suite("Exercise 7: trying again", .timeLimit(.minutes(1)))
struct Exercise7Tests {
    /// What has become of a call.
    private enum Outcome: Equatable {
        case loaded(String)
        case failed(URLError.Code?)
    }

    private let loader: any PatientLoading.Type = Exercises.areMine ? Exercise7.self : Solution7.self
    private let server: LoopbackServer
    private let lost = Reply.text("hello, world").cut(afterBytes: 5)

    init() throws {
        server = try LoopbackServer(.memory)
    }

    /// Loads a URL, and counts the requests that the server has received.
    private func load(_ url: URL) async -> (result: Outcome, requests: Int) {
        let session = URLSession(configuration: Exercises.configuration(for: server))
        defer { session.finishTasksAndInvalidate() }
        do {
            let data = try await loader.load(url, with: session)
            return (.loaded(String(decoding: data, as: UTF8.self)), server.requests.count)
        } catch {
            return (.failed((error as? URLError)?.code), server.requests.count)
        }
    }

    @Test("It tries again after a lost connection, and after a 503")
    func temporary() async {
        let busy = Reply.text("Come back later.").status(503)
        let outcome = await load(server.route("/text", .sequence([lost, busy, .text("hello, world")])))
        #expect(
            outcome.result == .loaded("hello, world"),
            "The third try succeeds, and its text is the result.")
        #expect(
            outcome.requests == 3,
            "A lost connection and a 503 are each followed by another request, so that there are three.")
    }

    @Test("After three lost connections it throws the error")
    func always() async {
        let outcome = await load(server.route("/text", lost))
        #expect(
            outcome.result == .failed(.networkConnectionLost),
            "After the last try the error of the connection is thrown.")
        #expect(
            outcome.requests == 3,
            "There are three requests, and not a fourth.")
    }

    @Test("A page that is not there is not requested again")
    func notFound() async {
        let outcome = await load(server.route("/text", Reply.text("There is no such page.").status(404)))
        #expect(
            outcome.result == .failed(.badServerResponse),
            "A 404 is an error of the server’s response.")
        #expect(
            outcome.requests == 1,
            "A page that is not there is requested once: another try cannot find it either.")
    }

    @Test("A URL that cannot be loaded is an error as it is")
    func permanent() async throws {
        let outcome = await load(try #require(URL(string: "gopher://in-memory.test/")))
        #expect(
            outcome.result == .failed(.unsupportedURL),
            "The error of the task is thrown unchanged.")
        #expect(
            outcome.requests == 0,
            "A URL of another scheme reaches no server.")
    }

    @Test("What was cancelled is not requested again")
    func cancelled() async {
        let gate = ServerGate()
        let url = server.route("/text", .text("hello, world").stalled(afterBytes: 5, until: gate))
        let task = Task { await load(url) }
        await gate.reached()
        task.cancel()
        let outcome = await task.value
        #expect(
            outcome.result == .failed(.cancelled),
            "Cancelling the caller’s task ends the call with the error cancelled.")
        #expect(
            outcome.requests == 1,
            "What was cancelled is not requested again.")
    }
}
