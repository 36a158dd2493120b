import Foundation
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The URL of an upload resource")
struct UploadResourceTests {
    private let old = URL(string: "http://user:old@host.example/films/")!

    @Test(
        "has no credentials, neither of its own nor of the request's URL",
        arguments: ["/uploads/1", "//host.example/uploads/1", "http://a:b@host.example/uploads/1"])
    func location(_ location: String) {
        #expect(
            Redirect.uploadResource(location, from: old)?.absoluteString == "http://host.example/uploads/1")
    }

    @Test(
        "is as secure as the server that names it",
        arguments: [
            ("https://host.example/", "/1", "https://host.example/1"),
            ("https://host.example/", "https://other.example/1", "https://other.example/1"),
            ("https://host.example/", "http://host.example/1", nil),
            ("http://host.example/", "https://host.example/1", nil),
        ])
    func security(_ url: String, _ location: String, _ resource: String?) throws {
        let url = try #require(URL(string: url))
        #expect(Redirect.uploadResource(location, from: url)?.absoluteString == resource)
    }

    @Test(
        "gets the credentials of the current request's URL, at the same origin alone",
        arguments: [
            ("http://host.example/1", "http://user:n%40w@host.example/1"), ("http://other.example/1", nil),
        ])
    func request(_ resource: String, _ url: String?) throws {
        let creation = URLRequest(url: try #require(URL(string: "http://user:n%40w@host.example/films/")))
        let request = creation.toUploadResource("HEAD", at: try #require(URL(string: resource)))
        #expect(request.url?.absoluteString == url ?? resource)
    }
}
