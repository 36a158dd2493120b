import Foundation
import PurlTesting

@testable import Purl

/// A session whose limits go by a clock of the test's.
struct RatedSession {
    static let rate = 64_000

    let clock = HandClock()
    let witness: Witness
    let sandbox: Sandbox
    let session: URLSession

    init(
        _ witness: Witness = Witness(), receives: Int? = nil, sends: Int? = nil,
        _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) throws {
        self.witness = witness
        sandbox = try Sandbox()
        let configuration = sandbox.configuration(change)
        configuration.maximumBytesReceivedPerSecond = receives
        configuration.maximumBytesSentPerSecond = sends
        var values = configuration.snapshot
        values.rateClock = clock
        session = URLSession(configuration: URLSessionConfiguration(values), delegate: witness, delegateQueue: nil)
    }

    /// Lets time go by until so many tasks have completed. After each bit of it `check` has its turn.
    func run(until count: Int = 1, _ check: (_ allowed: Int) -> Void = { _ in }) async {
        while witness.completions < count, !Task.isCancelled {
            await clock.advance(milliseconds: 10)
            check(await clock.allowed(at: Self.rate))
            await Task.yield()
        }
    }
}

extension Witness {
    var completions: Int {
        events.count { if case .completed = $0 { true } else { false } }
    }
}
