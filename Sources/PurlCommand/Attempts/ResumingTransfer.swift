import Foundation
import PurlDownloads

/// A transfer of the command line: what it does in each step of the loop that attempts it until it is done, or nothing is left to
/// be tried. `AttemptSequence` decides which step that is, as for a manager's downloads.
protocol ResumingTransfer {
    associatedtype Report
    associatedtype Outcome

    /// How many failures in a row without progress are retried.
    var retries: Int { get }
    var messages: MessagePrinter { get }
    var display: ProgressDisplay { get }
    /// The file's name in messages, and its number on the display.
    var name: String { get }
    var number: Int { get }

    /// An event of this transfer.
    func event(_ kind: CommandEvent.Kind) -> CommandEvent

    /// Makes one attempt. Cancelling the calling task interrupts it.
    mutating func attempt() async -> Report

    /// How it has ended, for the table, and as a sentence.
    func end(of report: Report) -> AttemptSequence.End
    func sentence(of report: Report) -> String

    /// Every byte has been transferred.
    mutating func deliver(_ report: Report) async throws(CommandFailure) -> Delivery<Outcome>

    /// The next attempt does not continue this one.
    mutating func prepare(_ next: NextAttempt, because sentence: String) async throws(CommandFailure)

    /// Prints how the transfer ended without being complete.
    func conclude(_ report: Report, _ ending: TransferEnding) async throws(CommandFailure) -> Outcome
}

/// What became of a transfer of which every byte has arrived.
enum Delivery<Outcome> {
    case over(Outcome)
    /// The bytes are not those that were expected.
    ///
    /// - Parameter isJoined: Some of them came in an earlier attempt.
    case mismatched(isJoined: Bool, _ sentence: String)
}

/// An attempt that does not continue the one before it.
enum NextAttempt: Equatable {
    case fromFirstByte
    /// - Parameter keepsBytes: False when the bytes there are turned out to be wrong.
    case atNextSource(keepsBytes: Bool)
}

/// How a transfer ended that is not complete.
enum TransferEnding: Equatable {
    case failed
    case interrupted
    /// The bytes are not those that were expected, and no source has others.
    case mismatched(sentence: String)
}

extension ResumingTransfer {
    /// Attempts the transfer until it is done, or nothing is left to be tried.
    mutating func run(_ sequence: AttemptSequence) async throws(CommandFailure) -> Outcome {
        var sequence = sequence
        var policy = RetryPolicy()
        policy.maximumRetries = retries
        while true {
            let report = await attempt()
            var (sentence, ending) = (self.sentence(of: report), TransferEnding.failed)
            var step = sequence.step(after: self.end(of: report), policy)
            if step == .deliver {
                switch try await deliver(report) {
                case .over(let outcome): return outcome
                case .mismatched(let isJoined, let reason):
                    (sentence, ending) = (reason, .mismatched(sentence: reason))
                    step = sequence.step(after: .mismatched(isJoined: isJoined), policy)
                }
            }
            switch step {
            case .retry(let delay):
                guard await wait(delay, because: sentence, sequence.failures) else {
                    return try await conclude(report, .interrupted)
                }
            case .startOver: try await prepare(.fromFirstByte, because: sentence)
            case .useNextSource: try await prepare(.atNextSource(keepsBytes: ending == .failed), because: sentence)
            case .deliver, .stop: return try await conclude(report, ending)
            }
        }
    }

    /// Waits before the next attempt; `false` when the command is interrupted.
    private func wait(_ delay: Duration, because sentence: String, _ failures: Int) async -> Bool {
        let subject = messages.subject.map { "\($0): " } ?? ""
        messages.info(
            "\(subject)\(sentence) Retrying in \(TimeText.wait(delay)) (\(failures) of \(retries))",
            event(.retrying).with {
                ($0.reason, $0.delay, $0.failures, $0.retries) = (sentence, delay / .seconds(1), failures, retries)
            })
        let end = ContinuousClock.now + delay
        if !messages.isQuiet {
            display.show({ "retrying in \(TimeText.wait(end - .now))" }, name: name, number: number)
        }
        defer { display.hide(number: number) }
        return (try? await ContinuousClock().sleep(until: end)) != nil
    }
}
