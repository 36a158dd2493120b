import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Descriptions, and archives of protection spaces and challenges")
struct DescriptionTests {
    private let url: URL

    init() throws {
        url = try #require(URL(string: "http://example.com/file"))
    }

    /// An object's address, as descriptions have it.
    private func address(_ object: AnyObject) -> String { "\(Unmanaged.passUnretained(object).toOpaque())" }

    @Test("Descriptions begin as Foundation's do, name the essential properties, and no passwords")
    func descriptions() throws {
        let task = URLSession(configuration: .ephemeral).dataTask(with: url)
        #expect(
            task.description
                == "<URLSessionDataTask: \(address(task))> { \(task.taskIdentifier), GET \(url), suspended }")
        let request = NSURLRequest(url: url)
        #expect(request.description == "<NSURLRequest: \(address(request))> { URL: \(url) }")
        let empty = NSMutableURLRequest(url: url)
        empty.url = nil
        #expect(empty.description == "<NSMutableURLRequest: \(address(empty))> { URL: (null) }")
        let response = URLResponse(
            url: url, mimeType: "text/plain", expectedContentLength: 7, textEncodingName: nil)
        #expect(
            response.description
                == "<URLResponse: \(address(response))> { URL: \(url) } { MIME type: text/plain, length: 7 }")
        let credential = URLCredential(user: "me", password: "secret", persistence: .forSession)
        #expect(
            credential.description
                == "<URLCredential: \(address(credential))> { user: me, persistence: forSession }")
        #expect(!credential.debugDescription.contains("secret"))
    }

    @Test("Descriptions of requests, responses, tasks and errors hide the password of a URL")
    func passwords() throws {
        let url = try #require(URL(string: "http://u:secret@example.com/file?q=1"))
        let shown = "http://u:•••@example.com/file?q=1"
        let request = URLRequest(url: url)
        #expect(request.description == shown)
        #expect(request.debugDescription == shown)
        #expect(NSURLRequest(url: url).description.hasSuffix("{ URL: \(shown) }"))
        #expect(
            URLRequest(url: try #require(URL(string: "x", relativeTo: url))).description.contains("u:•••@example.com"))
        let task = URLSession(configuration: .ephemeral).dataTask(with: request)
        #expect(task.description.contains("GET \(shown)"))
        let response = URLResponse(url: url, mimeType: nil, expectedContentLength: 7, textEncodingName: nil)
        #expect(response.description.contains("URL: \(shown) "))
        let redirect = HTTPURLResponse(
            url: url, statusCode: 302, httpVersion: nil, headerFields: ["Location": "http://v:secret@example.com/"])
        #expect(redirect?.description.contains("URL: \(shown) ") == true)
        #expect(redirect?.description.contains("\"Location\" = http://v:•••@example.com/") == true)
        #expect(redirect?.value(forHTTPHeaderField: "Location") == "http://v:secret@example.com/")
    }

    @Test("Errors hide the password of a URL in their texts, and keep the URL")
    func passwordsInErrors() async throws {
        let server = try LoopbackServer()
        server.route("/nowhere", Reply.text("").status(302).field("Location", "http://v:secret@[bad"))
        let url = try #require(URL(string: "http://u:secret@127.0.0.1:\(server.port)/nowhere"))
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
        #expect(error?.failingURL == url)
        #expect(
            error?.userInfo["NSErrorFailingURLStringKey"] as? String == "http://u:•••@127.0.0.1:\(server.port)/nowhere")
        for case let text as String in (error?.userInfo ?? [:]).values { #expect(!text.contains("secret")) }
        #expect(error?.localizedDescription.contains("secret") == false)
    }

    @Test(
        "The description of an HTTPURLResponse is Foundation's: the status, and the fields in the order of their names")
    func httpResponse() throws {
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 404, httpVersion: nil,
                headerFields: ["Server": "a b", "content-type": "text/html", "Content-Length": "5"]))
        #expect(
            response.description == """
                <HTTPURLResponse \(address(response))> { URL: \(url) }{ status: 404, headers {
                   "Content-Length" = 5;
                   "Content-Type" = "text/html";
                   "Server" = a b;
                } }
                """)
    }

    @Test("The description of a URLProtectionSpace is Foundation's")
    func protectionSpace() {
        let space = URLProtectionSpace(
            host: "EXAMPLE.com", port: 80, protocol: "http", realm: "door",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        #expect(
            space.description == "<URLProtectionSpace \(address(space))>: Host:EXAMPLE.com, Server:http, "
                + "Auth-Scheme:NSURLAuthenticationMethodHTTPBasic, Realm:door, Port:80, Proxy:NO, Proxy-Type:(null)")
        let proxy = URLProtectionSpace(
            proxyHost: "example.com", port: 8080, type: NSURLProtectionSpaceHTTPProxy, realm: nil,
            authenticationMethod: nil)
        #expect(
            proxy.description == "<URLProtectionSpace \(address(proxy))>: Host:example.com, Server:(null), "
                + "Auth-Scheme:NSURLAuthenticationMethodDefault, Realm:(null), Port:8080, Proxy:YES, Proxy-Type:http")
    }

    @Test(
        "A description has the methods that Foundation knows, and the default for any other",
        arguments: [
            (NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodDefault),
            (NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPBasic),
            (NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodHTTPDigest),
            (NSURLAuthenticationMethodHTMLForm, NSURLAuthenticationMethodHTMLForm),
            (NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNTLM),
            (NSURLAuthenticationMethodNegotiate, NSURLAuthenticationMethodNegotiate),
            (NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodClientCertificate),
            (NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodServerTrust),
            ("Bearer", NSURLAuthenticationMethodDefault), ("", NSURLAuthenticationMethodDefault),
        ])
    func authenticationMethod(method: String, shown: String) {
        let space = URLProtectionSpace(
            host: "a", port: 80, protocol: "http", realm: nil, authenticationMethod: method)
        #expect(space.description.contains(" Auth-Scheme:\(shown), "))
        #expect(space.authenticationMethod == method)
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
        #expect(copy.error?.failureSentence == challenge.error?.failureSentence)
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
