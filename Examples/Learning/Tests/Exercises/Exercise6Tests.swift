import Foundation
import Purl
import PurlTesting
import Testing

@testable import LearningExercises

@Suite("Exercise 6: the rest of a file", .timeLimit(.minutes(1)))
struct Exercise6Tests {
    private let rest: any RestRequests.Type = Exercises.areMine ? Exercise6.self : Solution6.self
    private let text = Reply.text("The cat sat on the mat.")

    /// Asks a server for the rest, and returns what it was asked and what its answer means.
    private func ask(_ reply: Reply, continuing part: FilePart) async throws -> (
        request: ReceivedRequest, plan: AnswerPlan
    ) {
        let server = try LoopbackServer(.memory)
        let session = URLSession(configuration: Exercises.configuration(for: server))
        let request = rest.request(for: server.route("/text", reply), continuing: part)
        let (_, response) = try await session.data(for: request)
        session.finishTasksAndInvalidate()
        let answer = try #require(response as? HTTPURLResponse, "The server answers with HTTP.")
        return (
            try #require(server.requests.first, "A request reaches the server."),
            rest.plan(for: answer, continuing: part)
        )
    }

    @Test("The rest is requested on condition that it is of the same version, and appended")
    func sameVersion() async throws {
        let part = FilePart(size: 8, entityTag: "\"v1\"")
        let (request, plan) = try await ask(text.entityTag("\"v1\""), continuing: part)
        #expect(
            request.fields["Range"] == "bytes=8-",
            "With 8 bytes there the request asks for those from byte 8 on.")
        #expect(
            request.fields["If-Range"] == "\"v1\"",
            "If-Range names the tag of the version that the first 8 bytes are of.")
        #expect(
            plan == .append,
            "A 206 with the same tag and the range that was asked for is appended.")
    }

    @Test("The whole file is requested where there is no strong tag", arguments: [nil, "W/\"v1\""])
    func noStrongTag(_ tag: String?) async throws {
        let (request, plan) = try await ask(text, continuing: FilePart(size: 8, entityTag: tag))
        #expect(
            request.fields["Range"] == nil,
            "Without a strong tag nothing proves which version a rest is of, so that no range is requested.")
        #expect(
            plan == .startOver,
            "A 200 has the whole file: it starts over.")
    }

    @Test("Another version starts over")
    func otherVersion() async throws {
        let part = FilePart(size: 8, entityTag: "\"v1\"")
        let (_, plan) = try await ask(text.entityTag("\"v2\""), continuing: part)
        #expect(
            plan == .startOver,
            "A 200 with another tag has the whole new version: it starts over.")
    }

    @Test("A range that begins elsewhere is not appended")
    func otherRange() async throws {
        let part = FilePart(size: 8, entityTag: "\"v1\"")
        let (_, plan) = try await ask(text.entityTag("\"v1\"").range(.startShifted(by: 2)), continuing: part)
        #expect(
            plan == .leave,
            "A range that begins at another byte does not fit: the file is left as it is.")
    }

    @Test("The rest of another version is not appended, even if the server sends it")
    func conditionIgnored() async throws {
        let part = FilePart(size: 8, entityTag: "\"v1\"")
        let (_, plan) = try await ask(text.entityTag("\"v2\"").ignoringIfRange(), continuing: part)
        #expect(
            plan == .leave,
            "A 206 with another tag is a rest of another version: the file is left as it is.")
    }

    @Test("A file of which nothing is missing is complete, and only then", arguments: [23, 24] as [Int64])
    func nothingMissing(_ size: Int64) async throws {
        let part = FilePart(size: size, entityTag: "\"v1\"")
        let (_, plan) = try await ask(text.entityTag("\"v1\""), continuing: part)
        #expect(
            plan == (size == 23 ? .complete : .leave),
            "A 416 that names the length of the file means that it is complete, and with any other that it is not."
        )
    }

    @Test("An error page leaves the file as it is")
    func errorPage() async throws {
        let part = FilePart(size: 8, entityTag: "\"v1\"")
        let (_, plan) = try await ask(Reply.text("Come back later.").status(503), continuing: part)
        #expect(
            plan == .leave,
            "A 503 says nothing about the file, which is left as it is.")
    }
}
