import Foundation
import Purl
import PurlTesting
import Testing

@testable import LearningExercises

@Suite("Exercise 9: what proves that bytes are of one version", .timeLimit(.minutes(1)))
struct Exercise9Tests {
    private static let noon = "Mon, 06 Oct 2025 12:00:00 GMT"
    private static let second = "Mon, 06 Oct 2025 12:00:01 GMT"

    private func validator(_ reply: Reply) async throws -> String? {
        let server = try LoopbackServer(.memory)
        let session = URLSession(configuration: Exercises.configuration(for: server))
        defer { session.finishTasksAndInvalidate() }
        let (_, response) = try await session.data(from: server.route("/paper", reply))
        let answer = try #require(response as? HTTPURLResponse, "The server answers with HTTP.")
        return Exercises.areMine ? Exercise9.validator(of: answer) : Solution9.validator(of: answer)
    }

    @Test("A weak entity tag is no proof, a strong one is")
    func tags() async throws {
        #expect(
            try await validator(.text("paper").entityTag("\"v1\"")) == "\"v1\"",
            "A strong entity tag is the validator.")
        #expect(
            try await validator(.text("paper").entityTag("W/\"v1\"")) == nil,
            "A weak entity tag is not proof of the same bytes.")
    }

    @Test("The date of the last change counts one second later")
    func dates() async throws {
        let reply = Reply.text("paper").replacingField("ETag", nil).replacingField("Last-Modified", Self.noon)
        #expect(
            try await validator(reply.replacingField("Date", Self.second)) == Self.noon,
            "A Last-Modified that is a second older than Date counts as strong.")
        #expect(
            try await validator(reply.replacingField("Date", Self.noon)) == nil,
            "A Last-Modified of the same second as Date may hide a second change: it is not a validator.")
    }

    @Test("A server that sends no rests is not asked for one")
    func noRanges() async throws {
        #expect(
            try await validator(.text("paper").entityTag("\"v1\"").acceptRanges("none")) == nil,
            "With Accept-Ranges: none there is no rest to ask for, and so no validator of use.")
    }
}
