import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("data: URLs (RFC 2397)", .timeLimit(.minutes(5)))
struct DataURLTests {
    private let sandbox = Sandbox()

    struct Row: Sendable, CustomTestStringConvertible {
        let url: String
        let content: String
        var type = "text/plain"
        var charset: String?

        init(_ url: String, _ content: String, _ type: String = "text/plain", _ charset: String? = nil) {
            self.url = url
            self.content = content
            self.type = type
            self.charset = charset
        }

        var testDescription: String { url }
    }

    @Test(
        "A data: URL has its content, media type and charset; without a charset textEncodingName is nil",
        arguments: [
            Row("data:,hello", "hello"), Row("data:,", ""), Row("DATA:,a%20b%2Cc", "a b,c"),
            Row("data:;base64,aGVsbG8=", "hello"), Row("data:,100%", "100%"),
            Row("data:text/html,%3Ch1%3Ehi%3C%2Fh1%3E", "<h1>hi</h1>", "text/html"),
            Row("data:text/html;charset=utf-8,%C3%A4", "ä", "text/html", "utf-8"),
            Row("data:;charset=utf-8,%C3%A4", "ä", "text/plain", "utf-8"),
            Row(
                "data:text/plain;charset=UTF-8;page=21,the%20data:1234,5678", "the data:1234,5678", "text/plain",
                "UTF-8"),
            Row("data:image/svg+xml;BASE64,PHN2Zy8%2B", "<svg/>", "image/svg+xml"),
            Row("data:text/plain;base64,aGVsbG8", "hello"),
            Row("data:text/plain;base64,aGV%20sbG8%3D", "hello"),
            Row("data:text/plain,hello#fragment", "hello"),
            Row("data:text/plain,a?b=c", "a?b=c"),
            Row("data:nothing,hello", "hello"),
            Row("data:;charset=utf-8;charset=utf-16;image/png,abc", "abc", "text/plain", "utf-8"),
            Row("data:application/json;charset=iso-8859-1;key=value,,123", ",123", "application/json", "iso-8859-1"),
        ])
    func contents(row: Row) async throws {
        let url = try #require(URL(string: row.url))
        let (data, response) = try await sandbox.session().data(from: url)
        #expect(String(decoding: data, as: UTF8.self) == row.content)
        #expect(response.mimeType == row.type)
        #expect(response.textEncodingName == row.charset)
        #expect(response.expectedContentLength == Int64(row.content.utf8.count))
        #expect(response.url == url)
        #expect(!(response is HTTPURLResponse))
    }

    @Test("A data: URL is loaded in every form", arguments: LoadForm.allCases)
    func forms(form: LoadForm) async throws {
        let url = try #require(URL(string: "data:text/plain,hello"))
        try await form.load(url).expectSuccess(Data("hello".utf8))
    }

    @Test("The file name of a downloaded data: URL is the default one")
    func name() async throws {
        let session = sandbox.session()
        let (file, response) = try await session.download(from: try #require(URL(string: "data:text/plain,hello")))
        try FileManager.default.removeItem(at: file)
        #expect(response.suggestedFilename == "Unknown")
    }

    @Test(
        "A data: URL without data, with a malformed type or broken Base64 fails with badURL",
        arguments: [
            ("data:", URLError.Code.badURL), ("data:;base64", .badURL), ("data:text/plain", .badURL),
            ("data:;base64,a", .badURL), ("data:;base64,!!!!", .badURL), ("data:;base64,a=b=", .badURL),
            ("data://blah", .badURL), ("data:%2c123", .badURL), ("data:text%2Fplain,123", .badURL),
            ("data:application_json;charset=iso-8859-%31;key=value,123,", .badURL),
            ("data:appli/cation/json%3bcharset=ISO-8859-1;key=value,,123,", .badURL),
        ], LoadForm.allCases)
    func failures(row: (url: String, code: URLError.Code), form: LoadForm) async throws {
        let url = try #require(URL(string: row.url))
        try await form.load(url).expectFailure(row.code, at: url)
    }

    @Test("A redirect to a data: URL is an error")
    func redirect() async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .redirect(to: "data:text/plain,hello"))
        let outcome = try await LoadForm.dataAsync.load(url)
        #expect(outcome.error?.code == .unsupportedURL)
    }

    @Test("A large data: URL is delivered with back-pressure")
    func large() async throws {
        let text = String(repeating: "0123456789", count: 100_000)
        let url = try #require(URL(string: "data:text/plain,\(text)"))
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data(text.utf8))
    }
}
