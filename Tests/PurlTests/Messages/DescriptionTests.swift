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

    @Test("Challenges survive an archive, but for who takes the answer")
    func archivedChallenge() throws {
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 401, httpVersion: "HTTP/1.1", headerFields: ["A": "1"]))
        let challenge = URLAuthenticationChallenge(
            protectionSpace: URLProtectionSpace(
                host: "example.com", port: 80, protocol: "http", realm: "door", authenticationMethod: nil),
            proposedCredential: URLCredential(user: "me", password: "secret", persistence: .none),
            previousFailureCount: 2, failureResponse: response, error: URLError(.userAuthenticationRequired),
            sender: Nobody())
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

    @Test("A challenge without credential, response and error is one after an archive, too")
    func bareChallenge() throws {
        let challenge = URLAuthenticationChallenge(
            protectionSpace: URLProtectionSpace(
                host: "example.com", port: 80, protocol: "http", realm: nil, authenticationMethod: nil),
            proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil, sender: Nobody())
        let data = try NSKeyedArchiver.archivedData(withRootObject: challenge, requiringSecureCoding: true)
        let copy = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: URLAuthenticationChallenge.self, from: data))
        #expect(copy.protectionSpace == challenge.protectionSpace)
        #expect(copy.proposedCredential == nil && copy.failureResponse == nil && copy.error == nil)
    }
}

/// Takes no answers.
private final class Nobody: NSObject, URLAuthenticationChallengeSender, Sendable {
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
    func cancel(_ challenge: URLAuthenticationChallenge) {}
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
}
