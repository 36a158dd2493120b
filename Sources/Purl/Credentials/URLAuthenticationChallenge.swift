import Foundation

/// A server's or proxy's demand for credentials.
///
/// `@unchecked Sendable` because the class is open; it is immutable.
open class URLAuthenticationChallenge: NSObject, NSSecureCoding, @unchecked Sendable {
    /// The protection space that requires a credential.
    open private(set) var protectionSpace: URLProtectionSpace
    /// The credential that was refused last; `nil` when none has been tried. What the URL and the credential storage
    /// have is tried before a delegate is asked.
    open private(set) var proposedCredential: URLCredential?
    /// How many credentials the server has refused for this request so far.
    open private(set) var previousFailureCount: Int
    /// The response that asks for a credential.
    open private(set) var failureResponse: URLResponse?
    /// Why the last attempt failed, where that was more than a refusal.
    open private(set) var error: (any Error)?
    /// Takes the answer, like the completion handler that comes with the challenge. Only the first answer counts.
    open private(set) var sender: (any URLAuthenticationChallengeSender)?

    /// Makes a challenge.
    ///
    /// - Parameters:
    ///   - space: The protection space that requires a credential.
    ///   - credential: The credential that was refused last.
    ///   - previousFailureCount: How many credentials have been refused.
    ///   - response: The response that asks for a credential.
    ///   - error: Why the last attempt failed, where that was more than a refusal.
    ///   - sender: Takes the answer.
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

    /// Makes the same challenge with another sender.
    ///
    /// - Parameter sender: Takes the answer.
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

    /// Reads a challenge from an archive. It has no sender, since no task waits for its answer.
    ///
    /// - Parameter aDecoder: The archive.
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
        let reason = aDecoder.decodeObject(of: NSString.self, forKey: "errorReason") as String?
        let code = aDecoder.decodeInteger(forKey: "errorCode")
        var userInfo: [String: Any] = [:]
        userInfo[NSLocalizedDescriptionKey] = sentence
        userInfo[NSLocalizedFailureReasonErrorKey] = reason
        error = domain.map { domain -> any Error in
            guard domain == NSURLErrorDomain, let code = URLError.Code(rawValue: code) else {
                return NSError(domain: domain, code: code, userInfo: userInfo)
            }
            return URLError(code, userInfo: userInfo)
        }
        sender = nil
    }

    /// Writes the challenge to an archive, the proposed credential's password as it is, and of the error its domain,
    /// code, description and reason.
    ///
    /// - Parameter aCoder: The archive.
    open func encode(with aCoder: NSCoder) {
        aCoder.encode(protectionSpace, forKey: "protectionSpace")
        aCoder.encode(proposedCredential, forKey: "proposedCredential")
        aCoder.encode(previousFailureCount, forKey: "previousFailureCount")
        aCoder.encode(failureResponse, forKey: "failureResponse")
        let error = error as NSError?
        aCoder.encode(error.map { NSString(string: $0.domain) }, forKey: "errorDomain")
        aCoder.encode(error?.code ?? 0, forKey: "errorCode")
        aCoder.encode(error.map { NSString(string: $0.localizedDescription) }, forKey: "errorSentence")
        aCoder.encode(error?.localizedFailureReason.map { NSString(string: $0) }, forKey: "errorReason")
    }

    open override var description: String {
        "\(super.description) { \(protectionSpace), previous failures: \(previousFailureCount) }"
    }
}

/// Takes the answer to a challenge. Its methods may be called from any thread; the first call counts.
public protocol URLAuthenticationChallengeSender: NSObjectProtocol, Sendable {
    /// Sends the request again with a credential.
    ///
    /// - Parameter challenge: The challenge it answers.
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge)

    /// Continues without a credential: the response that asked for it is the result.
    ///
    /// - Parameter challenge: The challenge it answers.
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge)

    /// Ends the task with `URLError.cancelled`.
    ///
    /// - Parameter challenge: The challenge it answers.
    func cancel(_ challenge: URLAuthenticationChallenge)

    /// Does what happens without a delegate: the response that asked is the result.
    ///
    /// - Parameter challenge: The challenge it answers.
    func performDefaultHandling(for challenge: URLAuthenticationChallenge)

    /// Has the delegate asked about the next protection space, if the response names another.
    ///
    /// - Parameter challenge: The challenge it answers.
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge)
}
