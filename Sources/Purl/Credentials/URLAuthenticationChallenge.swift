import Foundation

/// A server or proxy wants to know who is asking.
///
/// `@unchecked Sendable` because the class is open; it is immutable.
open class URLAuthenticationChallenge: NSObject, @unchecked Sendable {
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
