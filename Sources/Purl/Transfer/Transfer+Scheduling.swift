import Foundation
internal import PurlIO

/// When a transfer begins, and when it tries once more to connect.
extension Transfer {
    // MARK: The date to begin at

    /// Begins now, or waits for the task's date.
    func beginInTime() {
        delay?.cancel()
        delay = nil
        guard !holds.contains(.suspended) else { return }
        guard let date = task.earliestBeginDate else { return beginNow() }
        let seconds = date.timeIntervalSinceNow
        guard seconds > 0 else { return announceBeginning() }
        // The date is one of the calendar, whose clock can be set: looked at again at least once a minute.
        delay = SessionClock.system.schedule(after: .milliseconds(Int64((min(seconds, 60) * 1000).rounded(.up)))) {
            [weak self] in self?.beginInTime()
        }
    }

    /// The task has another date to begin at.
    func beginDateChanged() {
        if delay != nil { beginInTime() }
    }

    /// The time has come: the delegate may have another request by now, or none.
    private func announceBeginning() {
        guard hearsOfTask else { return beginNow() }
        phase = .preparing
        askBeginning(request) { [weak self] disposition, new in
            guard let self, case .preparing = self.phase else { return }
            self.phase = .parked
            switch disposition {
            case .cancel: return self.fail(.cancelled)
            case .continueLoading: break
            case .useNewRequest:
                guard let new else { break }
                self.request = new
                self.task.shared.withLock { $0.currentRequest = new }
            }
            self.beginNow()
        }
    }

    // MARK: Connectivity

    /// No connection could be made. A session that waits for connectivity takes that as a matter of time.
    func noteNoConnection(_ error: DialError) {
        guard session.settings.waitsForConnectivity, error.isPassing else {
            return fail(proxy.map { .proxyDial($0.endpoint, error) } ?? .dial(error))
        }
        phase = .parked
        if redials == 0 { announceWaiting() }
        let delay = Self.redialDelay(after: redials)
        redials += 1
        redialTimer = clock.schedule(after: delay) { [weak self] in
            guard let self else { return }
            self.redialTimer = nil
            if case .parked = self.phase { self.connect() }
        }
    }

    /// 1, 2, 4, 8, 16, then always 30 seconds.
    nonisolated static func redialDelay(after redials: Int) -> Duration {
        redials < 5 ? .seconds(1 << redials) : .seconds(30)
    }
}

extension DialError {
    /// The reason may go away by itself: there is no network, no way to the host, nobody to ask for its name or nobody
    /// listening. What this process lacks (descriptors, permission) is no matter of connectivity.
    var isPassing: Bool {
        switch self {
        case .resolve:
            return true
        case .connect(let failures):
            let passing: Set<Int32> = [
                ENETUNREACH, ENETDOWN, EHOSTUNREACH, EHOSTDOWN, ECONNREFUSED, ECONNRESET, ETIMEDOUT, EADDRNOTAVAIL,
                ENOENT,
            ]
            return failures.allSatisfy { passing.contains($0.error.code) }
        }
    }
}
