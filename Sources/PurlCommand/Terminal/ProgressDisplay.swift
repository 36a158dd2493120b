import Purl
import Synchronization

/// Shows a task's progress from its response on: a bar on a terminal, lines elsewhere.
final class ProgressDisplay: Sendable {
    private let console: Console
    private let drawing = Mutex<Task<Void, Never>?>(nil)

    /// How often a bar is drawn.
    private static let interval = Duration.milliseconds(100)

    init(_ console: Console) {
        self.console = console
    }

    /// Begins. A bar that is being drawn already goes on with `task`.
    func start(_ task: URLSessionTask) {
        let console = console
        // Taken now: by the time the drawing begins, much may have arrived.
        let beginning = Self.progress(of: task, RateMeter())
        replace(with: Task { await Self.follow(task, from: beginning, console) })
    }

    /// Takes the bar away, so that the cursor is at the beginning of an empty line; lines stay.
    func stop() async {
        await replace(with: nil)?.value
        console.erase()
    }

    @discardableResult
    private func replace(with next: Task<Void, Never>?) -> Task<Void, Never>? {
        let last = drawing.withLock { drawing in
            defer { drawing = next }
            return drawing
        }
        last?.cancel()
        return last
    }

    private static func follow(
        _ task: URLSessionTask, from beginning: TransferProgress, _ console: Console
    ) async {
        let clock = ContinuousClock()
        let start = clock.now
        var meter = RateMeter()
        var lines = ProgressLines(from: beginning)
        // One look after the end, so that the last line is not missed.
        var isLast = false
        while true {
            isLast = Task.isCancelled
            meter.note(task.countOfBytesReceived, at: clock.now - start)
            let progress = progress(of: task, meter)
            if console.isTerminal {
                if !isLast { console.draw(ProgressBar.line(progress, width: console.width)) }
            } else if let line = lines.line(progress) {
                console.say(line)
            }
            if isLast { return }
            try? await clock.sleep(for: interval)
        }
    }

    private static func progress(of task: URLSessionTask, _ meter: RateMeter) -> TransferProgress {
        let expected = task.countOfBytesExpectedToReceive
        return TransferProgress(
            received: task.countOfBytesReceived,
            total: expected == NSURLSessionTransferSizeUnknown ? nil : expected,
            bytesPerSecond: meter.bytesPerSecond)
    }
}
