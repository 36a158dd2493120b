import Foundation
import Purl
import Testing

@testable import SessionFixtures

@Suite("URLAuthenticationChallenge, and credential storage for a task")
struct ChallengeTests {
    /// A sender that ignores every answer.
    private final class Sender: NSObject, URLAuthenticationChallengeSender {
        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
        func cancel(_ challenge: URLAuthenticationChallenge) {}
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
    }

    private let space = URLProtectionSpace(
        host: "example.com", port: 80, protocol: NSURLProtectionSpaceHTTP, realm: "r",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

    private func challenge(_ sender: Sender, _ error: (any Error)?) -> URLAuthenticationChallenge {
        URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: ProtectedResource.credential(), previousFailureCount: 2,
            failureResponse: URLResponse(
                url: URL(fileURLWithPath: "/"), mimeType: nil, expectedContentLength: 0, textEncodingName: nil),
            error: error, sender: sender)
    }

    private func expectSame(_ one: URLAuthenticationChallenge, _ other: URLAuthenticationChallenge) {
        #expect(one.protectionSpace == other.protectionSpace)
        #expect(one.proposedCredential == other.proposedCredential)
        #expect(one.previousFailureCount == other.previousFailureCount)
        #expect(one.failureResponse == other.failureResponse)
        #expect(one.error as NSError? == other.error as NSError?)
    }

    @Test("A challenge made from another one differs only in its sender")
    func otherSender() {
        let (first, second) = (Sender(), Sender())
        let one = challenge(first, URLError(.userAuthenticationRequired))
        let other = URLAuthenticationChallenge(authenticationChallenge: one, sender: second)
        expectSame(one, other)
        #expect(one.sender === first)
        #expect(other.sender === second)
        #expect(other.description.drop { $0 != "{" } == one.description.drop { $0 != "{" })
    }

    @Test("An unarchived challenge has no sender, and its error keeps domain, code and description")
    func archive() throws {
        let errors: [(any Error)?] = [
            nil, URLError(.timedOut, userInfo: [NSLocalizedDescriptionKey: "too late"]),
            NSError(domain: "vault", code: 7, userInfo: [NSLocalizedDescriptionKey: "closed"]),
        ]
        for error in errors {
            let one = challenge(Sender(), error)
            let data = try NSKeyedArchiver.archivedData(withRootObject: one, requiringSecureCoding: true)
            let read = try NSKeyedUnarchiver.unarchivedObject(ofClass: URLAuthenticationChallenge.self, from: data)
            let other = try #require(read)
            #expect(other.protectionSpace == one.protectionSpace)
            #expect(other.proposedCredential == one.proposedCredential)
            #expect(other.previousFailureCount == 2)
            #expect(other.sender == nil)
            #expect((other.error as NSError?)?.domain == (error as NSError?)?.domain)
            #expect((other.error as NSError?)?.code == (error as NSError?)?.code)
            #expect(other.error?.localizedDescription == error?.localizedDescription)
            #expect(other.error?.failureSentence == error?.failureSentence)
        }
    }

    @Test("The storage methods that take a task read and change the storage")
    func storage() {
        let storage = URLCredentialStorage()
        let task = URLSessionTask()
        storage.set(ProtectedResource.credential(), for: space, task: task)
        storage.setDefaultCredential(ProtectedResource.credential("you"), for: space, task: task)
        #expect(storage.credentials(for: space)?.keys.sorted() == ["me", "you"])
        storage.getCredentials(for: space, task: task) { #expect($0 == storage.credentials(for: space)) }
        storage.getDefaultCredential(for: space, task: task) { #expect($0 == ProtectedResource.credential("you")) }
        storage.remove(ProtectedResource.credential("you"), for: space, task: task)
        storage.getDefaultCredential(for: space, task: task) { #expect($0 == nil) }
        #expect(storage.credentials(for: space)?.keys.sorted() == ["me"])
    }
}
