import Foundation

/// Takes the answer to one challenge, whichever way it is given.
final class ChallengeSender: NSObject, URLAuthenticationChallengeSender, Sendable {
    typealias Answer = (disposition: URLSession.AuthChallengeDisposition, credential: URLCredential?)

    private let once: SingleAnswer<Answer>

    init(_ once: SingleAnswer<Answer>) {
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
