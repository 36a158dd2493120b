import Foundation
import Purl

/// The attempts at one transfer: the table of what follows each of them.
///
/// | the attempt has ended | and | what follows |
/// | --- | --- | --- |
/// | complete | | the result is delivered: checked, moved, reported |
/// | complete, but not what is expected | some of it came in an earlier attempt, and there are several sources | once for each source, another attempt that begins at the first byte |
/// | | there is another source | an attempt there |
/// | failed, since the other end has lost what it had | fewer than ``maximumRestarts`` attempts have started over | an attempt that begins at the first byte |
/// | failed | the policy has another retry for it | an attempt after a delay |
/// | failed, and that may be the source's fault | there is another source | an attempt there, with all its retries |
/// | over, or anything else | | nothing |
///
/// Two loops ask it, with the same steps: attempt, judge, wait, verify, move. `ResumingTransfer.run` of the command line is a
/// loop in one task, which waits for its own delay. A manager's download gives its slot up while it waits, and its user pauses
/// it, gives it another URL or deletes it at any moment, from any thread, with an effect at once; so what its loop would wait
/// in are its phases, and ``DownloadScheduler`` continues where ``DownloadPhase/after(_:)`` allows it.
///
/// | step | in the command | in a manager |
/// | --- | --- | --- |
/// | attempt | `attempt` | ``FileAcquisition``, in the phase `downloading` |
/// | judge | `end(of:)` | ``Download/attemptEnded(_:_:_:)`` |
/// | wait | `wait` | the phases `backingOff` and, for a slot, `queued` |
/// | verify | `deliver` | ``FileAcquisition``'s `verify`, by ``Download/judgeReceivedFile(_:isReady:deleteBytes:)`` |
/// | move | `deliver` | ``FileMover``, in the phase `moving` |
package struct AttemptSequence: Sendable {
    /// How an attempt has ended.
    package enum End {
        /// Every byte has been transferred.
        case complete
        /// Every byte has been transferred, and they have not the digest that is expected.
        ///
        /// - Parameter isJoined: Some of them came in an earlier attempt.
        case mismatched(isJoined: Bool)
        case failed(Failure)
        /// Cancelled, refused on this side, or out of date: nothing is tried again.
        case over
    }

    /// What has failed, and how far the transfer had come.
    package struct Failure {
        /// Whose failure it is.
        package enum Side: Sendable {
            /// What is on this machine has failed.
            case own
            /// Another source may do better.
            case source
            /// The other end no longer has what was transferred.
            case otherEndForgot
        }

        let error: any Error
        let response: HTTPURLResponse?
        let side: Side
        let progress: Int64

        /// - Parameters:
        ///   - response: The response that is the failure, or came before it.
        ///   - progress: The most bytes there have been by now.
        package init(_ error: any Error, _ response: HTTPURLResponse?, of side: Side, at progress: Int64) {
            self.error = error
            self.response = response
            self.side = side
            self.progress = progress
        }
    }

    /// What follows an attempt.
    package enum Step: Sendable, Equatable {
        case deliver
        /// Another attempt after this delay.
        case retry(after: Duration)
        /// Another attempt that begins at the first byte.
        case startOver
        /// Another attempt at the next source.
        case useNextSource
        case stop
    }

    /// How often a transfer starts over that the other end has lost.
    private static let maximumRestarts = 3

    /// The failures in a row without progress in between.
    package private(set) var failures = 0
    private var furthest: Int64
    private var restarts = 0
    private var otherSources: Int
    private var hasSeveralSources: Bool
    private var hasRestartedAtSource = false

    /// - Parameters:
    ///   - received: The bytes there are before the first attempt.
    ///   - otherSources: How many sources there are besides the first.
    package init(from received: Int64 = 0, otherSources: Int = 0) {
        furthest = received
        self.otherSources = otherSources
        hasSeveralSources = otherSources > 0
    }

    /// There are so many sources that have not been asked, besides the present one.
    package mutating func setOtherSources(_ count: Int) {
        otherSources = count
        hasSeveralSources = hasSeveralSources || count > 0
    }

    /// What follows an attempt that has ended like this.
    package mutating func step(after end: End, _ policy: RetryPolicy) -> Step {
        switch end {
        case .complete: return .deliver
        case .over: return .stop
        case .mismatched(let isJoined):
            guard isJoined, hasSeveralSources, !hasRestartedAtSource else { return nextSource() }
            hasRestartedAtSource = true
            resetFailures()
            return .startOver
        case .failed(let failure):
            if failure.side == .otherEndForgot, restarts < Self.maximumRestarts {
                restarts += 1
                return .startOver
            }
            countFailure(at: failure.progress)
            let delay = policy.delay(afterFailures: failures, error: failure.error, response: failure.response)
            if let delay { return .retry(after: delay) }
            return failure.side == .source ? nextSource() : .stop
        }
    }

    private mutating func nextSource() -> Step {
        guard otherSources > 0 else { return .stop }
        otherSources -= 1
        hasRestartedAtSource = false
        resetFailures()
        return .useNextSource
    }

    /// An attempt that came further than all before it starts the count anew.
    private mutating func countFailure(at progress: Int64) {
        if progress > furthest { failures = 0 }
        furthest = max(furthest, progress)
        failures += 1
    }

    private mutating func resetFailures() {
        failures = 0
        furthest = 0
    }
}
