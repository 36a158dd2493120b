import Foundation

/// Passes the answer to one challenge on to its transfer, from the sender's methods or the completion handler.
final class ChallengeSender: NSObject, URLAuthenticationChallengeSender, Sendable {
    typealias Decision = (disposition: URLSession.AuthChallengeDisposition, credential: URLCredential?)

    private let give: @Sendable (Decision) -> Void
    private let askElsewhere: (@Sendable () -> Void)?

    /// - Parameters:
    ///   - give: Takes the answers, of which the first one counts.
    ///   - askElsewhere: Asks in another way, where the delegate does not have the method that was called.
    init(
        _ give: @escaping @Sendable (Decision) -> Void, whenMethodIsMissing askElsewhere: (@Sendable () -> Void)? = nil
    ) {
        self.give = give
        self.askElsewhere = askElsewhere
    }

    /// The delegate does not have the method. False when that is its answer.
    func methodIsMissing() -> Bool {
        askElsewhere?()
        return askElsewhere != nil
    }

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
        give((.useCredential, credential))
    }

    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {
        give((.useCredential, nil))
    }

    func cancel(_ challenge: URLAuthenticationChallenge) {
        give((.cancelAuthenticationChallenge, nil))
    }

    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {
        give((.performDefaultHandling, nil))
    }

    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
        give((.rejectProtectionSpace, nil))
    }
}

extension TrustAnswer {
    /// The answer of a delegate to a challenge about a server.
    init(judge: Judge, _ decision: ChallengeSender.Decision) {
        let verdict: Verdict =
            switch decision.disposition {
            case .useCredential: .accept(decision.credential?.trust)
            case .performDefaultHandling: .leaveToProvider
            case .cancelAuthenticationChallenge: .cancel
            case .rejectProtectionSpace: .reject
            }
        self.init(judge: judge, verdict)
    }
}
