import Foundation

/// Takes the answer to one challenge, whichever way it is given.
final class ChallengeSender: NSObject, URLAuthenticationChallengeSender, Sendable {
    typealias Answer = (disposition: URLSession.AuthChallengeDisposition, credential: URLCredential?)

    private let once: Once<Answer>

    init(_ once: Once<Answer>) {
        self.once = once
    }

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
        once.answer((.useCredential, credential))
    }

    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {
        once.answer((.useCredential, nil))
    }

    func cancel(_ challenge: URLAuthenticationChallenge) {
        once.answer((.cancelAuthenticationChallenge, nil))
    }

    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {
        once.answer((.performDefaultHandling, nil))
    }

    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
        once.answer((.rejectProtectionSpace, nil))
    }
}
