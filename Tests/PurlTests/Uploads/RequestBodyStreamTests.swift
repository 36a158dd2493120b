import Foundation
import Purl
import Testing

@Suite("A request's body stream")
struct RequestBodyStreamTests {
    private func request() throws -> URLRequest {
        URLRequest(url: try #require(URL(string: "http://example.org/")))
    }

    @Test("A request has data or a stream, whatever was set last")
    func exclusive() throws {
        var request = try request()
        let stream = InputStream(data: Data())
        request.httpBody = Data("x".utf8)
        request.httpBodyStream = stream
        #expect(request.httpBody == nil && request.httpBodyStream === stream)
        request.httpBody = Data("x".utf8)
        #expect(request.httpBody == Data("x".utf8) && request.httpBodyStream == nil)
        request.httpBodyStream = nil
        #expect(request.httpBody == nil && request.httpBodyStream == nil)
    }

    @Test("Copies share it, and requests with different streams differ")
    func equality() throws {
        var request = try request()
        request.httpBodyStream = InputStream(data: Data())
        var copy = request
        #expect(copy == request && copy.hashValue == request.hashValue)
        #expect(copy.httpBodyStream === request.httpBodyStream)
        copy.httpBodyStream = InputStream(data: Data())
        #expect(copy != request)
    }
}
