import Foundation
import Testing

@testable import PurlDownloads

@Suite("What follows an attempt")
struct AttemptSequenceTests {
    private typealias Failure = AttemptSequence.Failure

    /// Without delays.
    private func policy(retries: Int = 1) -> RetryPolicy {
        var policy = RetryPolicy()
        policy.maximumRetries = retries
        policy.maximumDelay = .zero
        return policy
    }

    private func failure(
        _ code: URLError.Code = .networkConnectionLost, of side: Failure.Side = .own, at progress: Int64 = 0
    ) -> AttemptSequence.End {
        .failed(Failure(URLError(code), nil, of: side, at: progress))
    }

    private func steps(
        after ends: [AttemptSequence.End], retries: Int = 1, otherSources: Int = 0
    ) -> [AttemptSequence.Step] {
        var sequence = AttemptSequence(otherSources: otherSources)
        return ends.map { sequence.step(after: $0, policy(retries: retries)) }
    }

    private let retry = AttemptSequence.Step.retry(after: .zero)

    @Test("What is complete is delivered, and what is over is not tried again, at any source")
    func ends() {
        #expect(steps(after: [.complete], otherSources: 1) == [.deliver])
        #expect(steps(after: [.over], otherSources: 1) == [.stop])
    }

    @Test("A failure is retried as often as the policy allows without progress in between")
    func retries() {
        #expect(steps(after: Array(repeating: failure(), count: 3), retries: 2) == [retry, retry, .stop])
        let growing = [failure(at: 1), failure(at: 2), failure(at: 2)]
        #expect(steps(after: growing) == [retry, retry, .stop])
        // A server that always cuts at the same byte makes no progress.
        #expect(steps(after: [failure(at: 2), failure(at: 1), failure(at: 2)], retries: 2) == [retry, retry, .stop])
    }

    @Test("Bytes of an earlier start are no progress")
    func start() {
        var sequence = AttemptSequence(from: 5)
        #expect(sequence.step(after: failure(at: 5), policy()) == retry)
        #expect(sequence.step(after: failure(at: 5), policy()) == .stop)
    }

    @Test("A failure that lasts is not retried")
    func lasting() {
        #expect(steps(after: [failure(.cannotFindHost)]) == [.stop])
        #expect(steps(after: [failure(.cannotWriteToFile)], otherSources: 1) == [.stop])
    }

    @Test("After the retries the next source is tried, with as many of its own")
    func sources() {
        let ends = Array(repeating: failure(of: .source), count: 4)
        #expect(steps(after: ends, otherSources: 1) == [retry, .useNextSource, retry, .stop])
        #expect(steps(after: [failure(.cannotFindHost, of: .source)], otherSources: 1) == [.useNextSource])
    }

    @Test("A failure on this machine leads to no other source")
    func ownFailure() {
        #expect(steps(after: [failure(), failure()], otherSources: 1) == [retry, .stop])
    }

    @Test("A transfer that the other end has lost starts over three times, and then fails like any other")
    func forgotten() {
        let ends = Array(repeating: failure(.badServerResponse, of: .otherEndForgot), count: 4)
        #expect(steps(after: ends) == [.startOver, .startOver, .startOver, .stop])
    }

    @Test("Wrong bytes of one answer are asked for at the next source")
    func mismatch() {
        let ends = Array(repeating: AttemptSequence.End.mismatched(isJoined: false), count: 3)
        #expect(steps(after: ends, otherSources: 2) == [.useNextSource, .useNextSource, .stop])
        #expect(steps(after: [.mismatched(isJoined: true)]) == [.stop])
    }

    @Test("Wrong bytes of several answers are asked for anew, once at each of several sources")
    func joinedMismatch() {
        let ends = Array(repeating: AttemptSequence.End.mismatched(isJoined: true), count: 4)
        #expect(steps(after: ends, otherSources: 1) == [.startOver, .useNextSource, .startOver, .stop])
    }
}
