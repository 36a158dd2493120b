import Foundation
internal import PurlIO

/// How long reads and writes may take. Their time runs from the call, but not while the task is suspended.
extension StreamConversation {
    /// - Parameter timeout: `nil` for no limit.
    func limit(_ operation: StreamOperation, to timeout: Duration?) {
        guard let timeout else { return }
        if isPaused, stopped == nil { stopped = clock.now }
        let deadline = (stopped ?? clock.now) + timeout
        operation.deadline = deadline
        if !isPaused { wake(at: deadline) }
    }

    func stopTime() {
        stopped = clock.now
        alarm?.timer.cancel()
        alarm = nil
    }

    /// All deadlines move by the time that did not count.
    func startTime() {
        let pause = stopped.map { clock.now - $0 } ?? .zero
        stopped = nil
        forEachOperation { operation in
            guard let deadline = operation.deadline else { return }
            operation.deadline = deadline + pause
            wake(at: deadline + pause)
        }
    }

    private func wake(at moment: MonotonicTime) {
        if let alarm {
            if alarm.moment <= moment { return }
            alarm.timer.cancel()
        }
        let timer = clock.schedule(after: max(moment - clock.now, .zero)) { [weak self] in self?.checkTime() }
        alarm = (timer, moment)
    }

    /// Fails what has had its time; the others are looked at when the first of them has.
    private func checkTime() {
        alarm = nil
        guard !isPaused else { return }
        let now = clock.now
        forEachOperation { operation in
            guard let deadline = operation.deadline else { return }
            deadline <= now ? expire(operation) : wake(at: deadline)
        }
        serve()
    }

    private func expire(_ operation: StreamOperation) {
        operation.fail(error(.timedOut(reading: operation.isReading)))
        // The server has its beginning, and would take anything else for its end.
        if operation.sent > 0 { loseOutput(.cutShort) }
    }

    /// Those that have not been answered.
    private func forEachOperation(_ body: (StreamOperation) -> Void) {
        for queue in [reads, writes] {
            for position in 0..<queue.count {
                if let operation = queue[position], !operation.isOver { body(operation) }
            }
        }
    }
}
