import Purl
import Synchronization

/// Shows the progress of transfers: bars on a terminal, lines elsewhere.
///
/// Transfers are identified by numbers, and shown in their order.
final class ProgressDisplay: Sendable {
    /// What is shown for one transfer.
    private enum Phase {
        case transfer(URLSessionTask, ProgressMeter)
        case remark(@Sendable () -> String)
    }

    private struct Entry {
        var name: String
        var phase: Phase
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        /// How many transfers have ended, and how many of them are complete.
        var ended = 0
        var complete = 0
        var drawing: Task<Void, Never>?
    }

    /// The time between two drawings.
    private static let interval = Duration.milliseconds(100)

    private let console: Console
    private let count: Int
    private let state = Mutex(State())

    /// - Parameter count: How many transfers there will be; a single one is drawn without a name.
    init(_ console: Console, count: Int = 1) {
        self.console = console
        self.count = count
    }

    deinit {
        state.withLock { $0.drawing?.cancel() }
    }

    // MARK: Transfers

    /// Shows a task, in place of what was shown for this number.
    func show(_ task: URLSessionTask, name: String, number: Int = 0) {
        // Counted now: until the first drawing many bytes may arrive.
        set(number, Entry(name: name, phase: .transfer(task, ProgressMeter(Self.counts(of: task)))))
    }

    /// Shows a remark, which is evaluated for each drawing. Only on a terminal.
    func show(_ remark: @escaping @Sendable () -> String, name: String, number: Int = 0) {
        set(number, Entry(name: name, phase: .remark(remark)))
    }

    /// Shows nothing for this number any more. A line that is due is printed first.
    func hide(number: Int = 0) {
        update(number)
        state.withLock { $0.entries[number] = nil }
        draw()
    }

    /// Counts a transfer that has ended.
    func countEnd(isComplete: Bool) {
        state.withLock { state in
            state.ended += 1
            if isComplete { state.complete += 1 }
        }
    }

    /// Removes the drawing. The cursor is then at the beginning of an empty line.
    func stop() async {
        let drawing = state.withLock { state in
            defer { state.drawing = nil }
            return state.drawing
        }
        drawing?.cancel()
        await drawing?.value
        // Once after the end, so that the last line is printed.
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

    // MARK: Drawing

    private func update() {
        for number in state.withLock({ $0.entries.keys.sorted() }) { update(number) }
        draw()
    }

    private func draw() {
        guard console.isTerminal else { return }
        let size = console.size
        state.withLock { state in
            // Drawn with the lock held, so that a hidden entry does not reappear.
            guard state.drawing != nil else { return }
            let rows = state.entries.sorted { $0.key < $1.key }.map(\.value).map(Self.row)
            if count > 1 {
                console.draw(ProgressTable.lines(rows, summary: Self.summary(state, count), size: size))
            } else {
                console.draw(rows.map { Self.line($0, size.width) })
            }
        }
    }

    /// Measures a transfer's progress, and prints the line that is due where there is no terminal.
    private func update(_ number: Int) {
        let line: String? = state.withLock { state in
            guard var entry = state.entries[number], case .transfer(let task, var meter) = entry.phase else {
                return nil
            }
            let line = meter.update(Self.counts(of: task))
            entry.phase = .transfer(task, meter)
            state.entries[number] = entry
            return line.map { count > 1 ? "\(entry.name): \($0)" : $0 }
        }
        if let line, !console.isTerminal { console.print(line) }
    }

    private static func row(_ entry: Entry) -> ProgressTable.Row {
        switch entry.phase {
        case .transfer(_, let meter): ProgressTable.Row(name: entry.name, state: .progress(meter.progress))
        case .remark(let remark): ProgressTable.Row(name: entry.name, state: .remark(remark()))
        }
    }

    private static func line(_ row: ProgressTable.Row, _ width: Int) -> String {
        switch row.state {
        case .progress(let progress): ProgressBar.line(progress, width: width)
        case .remark(let remark): DisplayText.prefix(remark, columns: max(0, width - 3))
        }
    }

    private static func summary(_ state: State, _ count: Int) -> String {
        let rate = state.entries.values.reduce(0.0) { sum, entry in
            guard case .transfer(_, let meter) = entry.phase else { return sum }
            return sum + (meter.progress.bytesPerSecond ?? 0)
        }
        return BatchText.progress(
            complete: state.complete, failed: state.ended - state.complete, downloading: state.entries.count, of: count,
            bytesPerSecond: rate)
    }

    private static func counts(of task: URLSessionTask) -> TransferProgress {
        let isUpload = task is URLSessionUploadTask
        let expected = isUpload ? task.countOfBytesExpectedToSend : task.countOfBytesExpectedToReceive
        return TransferProgress(
            received: isUpload ? task.countOfBytesSent : task.countOfBytesReceived,
            total: expected == NSURLSessionTransferSizeUnknown ? nil : expected)
    }
}
