import Foundation
import Purl
import Testing

@testable import PurlCommand

@Suite("The meaning of a response")
struct ResponseMeaningTests {
    static let record: ResumeRecord = TemporaryFolder.record(of: "http://host/film", bytes: 10)

    struct Case: CustomTestStringConvertible {
        let status: Int
        var fields: [String: String] = [:]
        var received: Int64 = 0
        var expected: Int64 = -1
        var content = PartFiles.Content.nothing
        let meaning: ResponseMeaning

        var testDescription: String { "\(status) \(fields) after \(content)" }
    }

    @Test(arguments: [
        Case(status: 200, meaning: .begins),
        Case(
            status: 200, content: .useless(TemporaryFolder.record(of: "http://host/film", bytes: 0)),
            meaning: .startsOver(.partsUnresumable)),
        Case(status: 200, content: .ofAnotherURL(record), meaning: .startsOver(.partsOfAnotherURL)),
        Case(status: 200, content: .unfinished(record), meaning: .startsOver(.serverSendsAll)),
        Case(
            status: 200, fields: ["ETag": "\"v1\""], content: .unfinished(record), meaning: .startsOver(.serverSendsAll)
        ),
        Case(
            status: 200, fields: ["ETag": "\"v2\""], content: .unfinished(record),
            meaning: .startsOver(.changedOnServer)),
        Case(status: 206, received: 10, expected: 100, content: .unfinished(record), meaning: .resumes(at: 10)),
        Case(status: 416, received: 10, expected: 10, content: .unfinished(record), meaning: .isComplete),
        Case(status: 416, meaning: .errorPage(status: 416)),
        Case(status: 416, received: 0, expected: 0, meaning: .errorPage(status: 416)),
        Case(status: 404, content: .unfinished(record), meaning: .errorPage(status: 404)),
        Case(status: 503, meaning: .errorPage(status: 503)),
        Case(status: 204, meaning: .notTheFile(status: 204)),
        Case(status: 304, meaning: .notTheFile(status: 304)),
    ])
    func meaning(of example: Case) throws {
        let url = try #require(URL(string: "http://host/film"))
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: example.status, httpVersion: "HTTP/1.1", headerFields: example.fields))
        let meaning = ResponseMeaning(
            response, received: example.received, expected: example.expected, content: example.content)
        #expect(meaning == example.meaning)
    }
}
