import Purl
import Testing

@testable import PurlSimulation

@Suite struct WatchTests {
    private typealias Kind = TransferTrace.Kind

    private static func call(
        _ number: Int, _ method: TransferTrace.DelegateMethod, written: Int64? = nil
    ) -> [Kind] {
        let call = TransferTrace.DelegateCall(
            number: number, method: method,
            arguments: written.map { .progress(bytes: 1, total: $0, expected: 10) })
        return [.queued(call), .began(call), .ended(call)]
    }

    private func brokenRules(_ kinds: [Kind]) -> [String] {
        Watch.brokenRules(
            in: kinds.map { TransferTrace.Event(nanoseconds: 0, lane: .delegateQueue, task: 1, kind: $0) })
    }

    @Test func aTransferInOrderBreaksNoRule() {
        let kinds =
            Self.call(1, .didWriteData, written: 4) + Self.call(2, .didWriteData, written: 4)
            + Self.call(3, .didFinishDownloading) + Self.call(4, .didComplete)
        #expect(brokenRules(kinds).isEmpty)
    }

    @Test func eachRuleIsWatched() {
        let first = TransferTrace.DelegateCall(number: 1, method: .didReceiveData)
        let second = TransferTrace.DelegateCall(number: 2, method: .didComplete)
        #expect(
            brokenRules(Self.call(1, .didComplete) + Self.call(2, .didComplete))
                == ["task 1: didComplete is called twice"])
        #expect(
            brokenRules(Self.call(1, .didComplete) + Self.call(2, .didWriteData))
                == ["task 1: didWriteData is called after didComplete"])
        #expect(
            brokenRules(Self.call(1, .completionHandler) + Self.call(2, .completionHandler))
                == ["task 1: completion handler is called twice"])
        #expect(
            brokenRules(Self.call(1, .didWriteData, written: 4) + Self.call(2, .didWriteData, written: 3))
                == ["task 1: didWriteData: the progress falls from 4 to 3"])
        #expect(
            brokenRules([.queued(first), .queued(second), .began(second), .ended(second), .began(first)])
                == [
                    "task 1: didComplete is called before didReceive data",
                    "task 1: didReceive data is called after didComplete",
                ])
        #expect(
            brokenRules([.queued(first), .queued(second), .began(first), .began(second)])
                == ["task 1: didComplete is called within didReceive data"])
    }
}
