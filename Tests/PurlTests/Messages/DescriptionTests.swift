import Foundation
import Purl
import Testing

@Suite("What values say of themselves, and what they are after an archive")
struct DescriptionTests {
    private let url: URL

    init() throws {
        url = try #require(URL(string: "http://example.com/file"))
    }

    @Test("Descriptions name what matters, and no secrets")
    func descriptions() throws {
        let task = URLSession(configuration: .ephemeral).dataTask(with: url)
        #expect(task.description == "<URLSessionDataTask \(task.taskIdentifier)> { GET \(url), suspended }")
        let response = URLResponse(
            url: url, mimeType: "text/plain", expectedContentLength: 7, textEncodingName: nil)
        #expect(response.description == "<URLResponse> { URL: \(url) } { MIME type: text/plain, length: 7 }")
        let credential = URLCredential(user: "me", password: "secret", persistence: .forSession)
        #expect(credential.description == "<URLCredential> { user: me, persistence: forSession }")
        #expect(!credential.debugDescription.contains("secret"))
    }

    @Test("Protection spaces survive an archive", arguments: [true, false])
    func archive(isProxy: Bool) throws {
        let space =
            isProxy
            ? URLProtectionSpace(
                proxyHost: "example.com", port: 8080, type: NSURLProtectionSpaceHTTPProxy, realm: nil,
                authenticationMethod: nil)
            : URLProtectionSpace(
                host: "example.com", port: 80, protocol: "http", realm: "door",
                authenticationMethod: NSURLAuthenticationMethodHTTPDigest)
        let data = try NSKeyedArchiver.archivedData(withRootObject: space, requiringSecureCoding: true)
        let copy = try NSKeyedUnarchiver.unarchivedObject(ofClass: URLProtectionSpace.self, from: data)
        #expect(copy == space)
        #expect(copy?.isProxy() == isProxy)
    }
}
