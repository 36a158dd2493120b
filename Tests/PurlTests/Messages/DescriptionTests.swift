import Foundation
import Purl
import Testing

@Suite("Descriptions, and archives of protection spaces and challenges")
struct DescriptionTests {
    private let url: URL

    init() throws {
        url = try #require(URL(string: "http://example.com/file"))
    }

    @Test("Descriptions name the essential properties, and no passwords")
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

    @Test("An unarchived protection space equals the archived one", arguments: [true, false])
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

    @Test("An unarchived challenge equals the archived one, without its sender")
    func archivedChallenge() throws {
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 401, httpVersion: "HTTP/1.1", headerFields: ["A": "1"]))
        let challenge = URLAuthenticationChallenge(
            protectionSpace: URLProtectionSpace(
                host: "example.com", port: 80, protocol: "http", realm: "door", authenticationMethod: nil),
            proposedCredential: URLCredential(user: "me", password: "secret", persistence: .none),
            previousFailureCount: 2, failureResponse: response, error: URLError(.userAuthenticationRequired),
            sender: IgnoringSender())
        let data = try NSKeyedArchiver.archivedData(withRootObject: challenge, requiringSecureCoding: true)
        let copy = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: URLAuthenticationChallenge.self, from: data))
        #expect(copy.protectionSpace == challenge.protectionSpace)
        #expect(copy.proposedCredential == challenge.proposedCredential)
        #expect(copy.previousFailureCount == 2)
        #expect(copy.failureResponse == response)
        #expect((copy.error as? URLError)?.code == .userAuthenticationRequired)
        #expect(copy.error?.localizedDescription == challenge.error?.localizedDescription)
        #expect(copy.sender == nil)
    }

    @Test("A challenge without credential, response and error can be archived")
    func bareChallenge() throws {
        let challenge = URLAuthenticationChallenge(
            protectionSpace: URLProtectionSpace(
                host: "example.com", port: 80, protocol: "http", realm: nil, authenticationMethod: nil),
            proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil, sender: IgnoringSender()
        )
        let data = try NSKeyedArchiver.archivedData(withRootObject: challenge, requiringSecureCoding: true)
        let copy = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: URLAuthenticationChallenge.self, from: data))
        #expect(copy.protectionSpace == challenge.protectionSpace)
        #expect(copy.proposedCredential == nil && copy.failureResponse == nil && copy.error == nil)
    }
}

/// A sender that ignores every answer.
private final class IgnoringSender: NSObject, URLAuthenticationChallengeSender, Sendable {
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
    func cancel(_ challenge: URLAuthenticationChallenge) {}
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}
