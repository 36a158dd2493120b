import Foundation

/// A server or proxy wants to know who is asking.
///
/// `@unchecked Sendable` because the class is open; it is immutable.
open class URLAuthenticationChallenge: NSObject, NSSecureCoding, @unchecked Sendable {
    /// What the credential is to open.
    public let protectionSpace: URLProtectionSpace
    /// The credential that was refused last; `nil` when none has been tried. What the URL and the credential storage
    /// have is tried before a delegate is asked.
    public let proposedCredential: URLCredential?
    /// How many credentials the server has refused for this request so far.
    public let previousFailureCount: Int
    /// The response that asks for a credential.
    public let failureResponse: URLResponse?
    /// Why the last attempt failed, where that was more than a refusal.
    public let error: (any Error)?
    /// Takes the answer, like the completion handler that comes with the challenge. Only the first answer counts.
    public let sender: (any URLAuthenticationChallengeSender)?

    /// Makes a challenge.
    public init(
        protectionSpace space: URLProtectionSpace, proposedCredential credential: URLCredential?,
        previousFailureCount: Int, failureResponse response: URLResponse?, error: (any Error)?,
        sender: any URLAuthenticationChallengeSender
    ) {
        protectionSpace = space
        proposedCredential = credential
        self.previousFailureCount = previousFailureCount
        failureResponse = response
        self.error = error
        self.sender = sender
    }

    /// The same challenge with another sender.
    public init(
        authenticationChallenge challenge: URLAuthenticationChallenge, sender: any URLAuthenticationChallengeSender
    ) {
        protectionSpace = challenge.protectionSpace
        proposedCredential = challenge.proposedCredential
        previousFailureCount = challenge.previousFailureCount
        failureResponse = challenge.failureResponse
        error = challenge.error
        self.sender = sender
    }

    // MARK: NSSecureCoding

    /// Challenges may be archived.
    public static var supportsSecureCoding: Bool { true }

    /// Reads a challenge from an archive. It has no sender: nobody waits for its answer any more.
    public required init?(coder aDecoder: NSCoder) {
        guard let space = aDecoder.decodeObject(of: URLProtectionSpace.self, forKey: "protectionSpace") else {
            return nil
        }
        protectionSpace = space
        proposedCredential = aDecoder.decodeObject(of: URLCredential.self, forKey: "proposedCredential")
        previousFailureCount = max(0, aDecoder.decodeInteger(forKey: "previousFailureCount"))
        failureResponse =
            aDecoder.decodeObject(of: [URLResponse.self, HTTPURLResponse.self], forKey: "failureResponse")
            as? URLResponse
        let domain = aDecoder.decodeObject(of: NSString.self, forKey: "errorDomain") as String?
        let sentence = aDecoder.decodeObject(of: NSString.self, forKey: "errorSentence") as String?
        let code = aDecoder.decodeInteger(forKey: "errorCode")
        let userInfo = sentence.map { [NSLocalizedDescriptionKey: $0] } ?? [:]
        error = domain.map { domain -> any Error in
            guard domain == NSURLErrorDomain, let code = URLError.Code(rawValue: code) else {
                return NSError(domain: domain, code: code, userInfo: userInfo)
            }
            return URLError(code, userInfo: userInfo)
        }
        sender = nil
    }

    /// Writes the challenge to an archive, the proposed credential's password as it is, and of the error its domain,
    /// code and sentence.
    open func encode(with aCoder: NSCoder) {
        aCoder.encode(protectionSpace, forKey: "protectionSpace")
        aCoder.encode(proposedCredential, forKey: "proposedCredential")
        aCoder.encode(previousFailureCount, forKey: "previousFailureCount")
        aCoder.encode(failureResponse, forKey: "failureResponse")
        let error = error as NSError?
        aCoder.encode(error.map { NSString(string: $0.domain) }, forKey: "errorDomain")
        aCoder.encode(error?.code ?? 0, forKey: "errorCode")
        aCoder.encode(error.map { NSString(string: $0.localizedDescription) }, forKey: "errorSentence")
    }

    open override var description: String {
        "<\(Self.self)> { \(protectionSpace), previous failures: \(previousFailureCount) }"
    }
}

/// Who takes the answer to a challenge. Any thread may answer.
public protocol URLAuthenticationChallengeSender: NSObjectProtocol, Sendable {
    /// Go on with this credential.
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge)

    /// Go on without one: the response that asked for it is the result.
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge)

    /// End the task.
    func cancel(_ challenge: URLAuthenticationChallenge)

    /// Do what happens when nobody is asked.
    func performDefaultHandling(for challenge: URLAuthenticationChallenge)

    /// Ask for the next protection space, if the response names another.
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge)
}

/// Takes the answer to one challenge, whichever way it is given.
final class ChallengeSender: NSObject, URLAuthenticationChallengeSender, Sendable {
    typealias Decision = (disposition: URLSession.AuthChallengeDisposition, credential: URLCredential?)

    private let once: SingleAnswer<Decision>

    init(_ once: SingleAnswer<Decision>) {
        self.once = once
    }

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
        once.give((.useCredential, credential))
    }

    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {
        once.give((.useCredential, nil))
    }

    func cancel(_ challenge: URLAuthenticationChallenge) {
        once.give((.cancelAuthenticationChallenge, nil))
    }

    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {
        once.give((.performDefaultHandling, nil))
    }

    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
        once.give((.rejectProtectionSpace, nil))
    }
}
