import Foundation
import Testing

@testable import Purl

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
