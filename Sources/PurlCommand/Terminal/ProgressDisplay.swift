import Purl
import Synchronization

/// Shows transfers' progress: bars on a terminal, lines elsewhere.
///
/// Transfers are known by numbers; they are shown in the order of these.
final class ProgressDisplay: Sendable {
    /// What is shown of one transfer.
    private enum Phase {
        case transfer(URLSessionTask, ProgressFollower)
        case remark(@Sendable () -> String)
    }

    private struct Entry {
        var name: String
        var phase: Phase
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        /// How many of the transfers are over, and how many of them well.
        var ended = 0
        var complete = 0
        var drawing: Task<Void, Never>?
    }

    /// How often it is drawn.
    private static let interval = Duration.milliseconds(100)

    private let console: Console
    private let count: Int
    private let state = Mutex(State())

    /// - Parameter count: How many transfers there will be; the one of one has its bar to itself.
    init(_ console: Console, count: Int = 1) {
        self.console = console
        self.count = count
    }

    deinit {
        state.withLock { $0.drawing?.cancel() }
    }

    // MARK: What there is to show

    /// Shows a task from now on, in place of what was shown under this number.
    func show(_ task: URLSessionTask, name: String, number: Int = 0) {
        // Taken now: by the time the drawing begins, much may have arrived.
        set(number, Entry(name: name, phase: .transfer(task, ProgressFollower(Self.counts(of: task)))))
    }

    /// Shows a few words that are asked for whenever they are drawn. Only on a terminal.
    func show(_ remark: @escaping @Sendable () -> String, name: String, number: Int = 0) {
        set(number, Entry(name: name, phase: .remark(remark)))
    }

    /// Shows nothing under this number any more. Lines stay, and the one that is due is printed before.
    func hide(number: Int = 0) {
        look(at: number)
        state.withLock { $0.entries[number] = nil }
        draw()
    }

    /// Counts a transfer that is over.
    func note(isComplete: Bool) {
        state.withLock { state in
            state.ended += 1
            if isComplete { state.complete += 1 }
        }
    }

    /// Takes everything away, so that the cursor is at the beginning of an empty line.
    func stop() async {
        let drawing = state.withLock { state in
            defer { state.drawing = nil }
            return state.drawing
        }
        drawing?.cancel()
        await drawing?.value
        // One look after the end, so that the last line is not missed.
        for number in state.withLock({ $0.entries.keys.sorted() }) { hide(number: number) }
        console.erase()
    }

    private func set(_ number: Int, _ entry: Entry) {
        state.withLock { state in
            state.entries[number] = entry
            guard state.drawing == nil else { return }
            state.drawing = Task { [weak self] in
                while let self, !Task.isCancelled {
                    self.update()
                    try? await ContinuousClock().sleep(for: Self.interval)
                }
            }
        }
    }

    // MARK: Showing

    private func update() {
        for number in state.withLock({ $0.entries.keys.sorted() }) { look(at: number) }
        draw()
    }

    private func draw() {
        guard console.isTerminal else { return }
        let size = console.size
        state.withLock { state in
            // Drawn inside, so that what was hidden meanwhile does not come back.
            guard state.drawing != nil else { return }
            let rows = state.entries.sorted { $0.key < $1.key }.map(\.value).map(Self.row)
            if count > 1 {
                console.draw(ProgressTable.lines(rows, summary: Self.summary(state, count), size: size))
            } else {
                console.draw(rows.map { Self.line($0, size.width) })
            }
        }
    }

    /// Notes how far a transfer has come, and prints the line that is due where there is no terminal.
    private func look(at number: Int) {
        let line: String? = state.withLock { state in
            guard var entry = state.entries[number], case .transfer(let task, var follower) = entry.phase else {
                return nil
            }
            let line = follower.look(at: Self.counts(of: task))
            entry.phase = .transfer(task, follower)
            state.entries[number] = entry
            return line.map { count > 1 ? "\(entry.name): \($0)" : $0 }
        }
        if let line, !console.isTerminal { console.say(line) }
    }

    private static func row(_ entry: Entry) -> ProgressTable.Row {
        switch entry.phase {
        case .transfer(_, let follower): ProgressTable.Row(name: entry.name, state: .progress(follower.progress))
        case .remark(let words): ProgressTable.Row(name: entry.name, state: .remark(words()))
        }
    }

    private static func line(_ row: ProgressTable.Row, _ width: Int) -> String {
        switch row.state {
        case .progress(let progress): ProgressBar.line(progress, width: width)
        case .remark(let words): DisplayText.prefix(words, columns: max(0, width - 3))
        }
    }

    private static func summary(_ state: State, _ count: Int) -> String {
        let rate = state.entries.values.reduce(0.0) { sum, entry in
            guard case .transfer(_, let follower) = entry.phase else { return sum }
            return sum + (follower.progress.bytesPerSecond ?? 0)
        }
        return BatchText.standing(
            complete: state.complete, failed: state.ended - state.complete, underWay: state.entries.count, of: count,
            bytesPerSecond: rate)
    }

    private static func counts(of task: URLSessionTask) -> TransferProgress {
        let expected = task.countOfBytesExpectedToReceive
        return TransferProgress(
            received: task.countOfBytesReceived,
            total: expected == NSURLSessionTransferSizeUnknown ? nil : expected)
    }
}
