import Purl
import Synchronization

/// Shows the progress of transfers: bars on a terminal, lines elsewhere, and events with `--json`.
///
/// Transfers are identified by numbers, and shown in their order.
final class ProgressDisplay: Sendable {
    /// What is shown for one transfer.
    private enum Phase {
        case transfer(Source, ProgressMeter)
        case remark(@Sendable () -> String)
    }

    /// Where the counts of a transfer come from.
    private struct Source {
        let task: URLSessionTask
        /// How many bytes of the file are there, where several tasks have brought them; otherwise `nil`.
        let received: @Sendable () -> Int64?
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
    private let events: EventLog?
    private let count: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - events: Where progress is written instead of being drawn.
    ///   - count: How many transfers there will be; a single one is drawn without a name.
    init(_ console: Console, events: EventLog? = nil, count: Int = 1) {
        self.console = console
        self.events = events
        self.count = count
    }

    deinit {
        state.withLock { $0.drawing?.cancel() }
    }

    // MARK: Transfers

    /// Shows a task, in place of what was shown for this number.
    ///
    /// - Parameter received: Returns how many bytes of the file are there, where several tasks have brought them; otherwise `nil`.
    func show(
        _ task: URLSessionTask, name: String, number: Int = 0, received: @escaping @Sendable () -> Int64? = { nil }
    ) {
        let source = Source(task: task, received: received)
        // Counted now: until the first drawing many bytes may arrive.
        set(number, Entry(name: name, phase: .transfer(source, ProgressMeter(Self.counts(of: source)))))
    }

    /// Shows a remark, which is evaluated for each drawing. Only on a terminal.
    func show(_ remark: @escaping @Sendable () -> String, name: String, number: Int = 0) {
        set(number, Entry(name: name, phase: .remark(remark)))
    }

    /// Shows nothing for this number any more. A line that is due is printed first.
    func hide(number: Int = 0) {
        update(number)
        state.withLock { $0.entries[number] = nil }
        // Of several, the next drawing also knows whether it is complete: the bar for all does not go back meanwhile.
        if count == 1 { draw() }
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
        guard console.canRedraw, events == nil else { return }
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

    /// Measures a transfer's progress, and prints the line or writes the event that is due.
    private func update(_ number: Int) {
        let (line, event): (String?, CommandEvent?) = state.withLock { state in
            guard var entry = state.entries[number], case .transfer(let source, var meter) = entry.phase else {
                return (nil, nil)
            }
            let line = meter.update(Self.counts(of: source))
            let isEventDue = events != nil && meter.takeEvent()
            entry.phase = .transfer(source, meter)
            state.entries[number] = entry
            return (
                line.map { count > 1 ? "\(entry.name): \($0)" : $0 },
                isEventDue ? Self.event(meter.progress, entry.name, source.task) : nil
            )
        }
        if let event { events?.write(event) }
        if let line, !console.canRedraw, events == nil { console.print(line) }
    }

    private static func event(_ progress: TransferProgress, _ name: String, _ task: URLSessionTask) -> CommandEvent {
        CommandEvent(.progress, file: name, url: task.originalRequest?.url).with {
            $0.bytes = progress.received
            $0.total = progress.total
            $0.bytesPerSecond = progress.bytesPerSecond?.rounded()
        }
    }

    private static func row(_ entry: Entry) -> ProgressTable.Row {
        switch entry.phase {
        case .transfer(_, let meter): ProgressTable.Row(name: entry.name, state: .progress(meter.progress))
        case .remark(let remark): ProgressTable.Row(name: entry.name, state: .remark(remark()))
        }
    }

    private static func line(_ row: ProgressTable.Row, _ width: Int) -> TerminalLine {
        switch row.state {
        case .progress(let progress): ProgressBar.line(progress, width: width)
        case .remark(let remark): TerminalLine(DisplayText.prefix(remark, columns: max(0, width - 3)), .yellow)
        }
    }

    private static func summary(_ state: State, _ count: Int) -> BatchProgress {
        let running = state.entries.values.map { entry -> TransferProgress? in
            guard case .transfer(_, let meter) = entry.phase else { return nil }
            return meter.progress
        }
        return BatchProgress(
            count: count, complete: state.complete, failed: state.ended - state.complete,
            downloading: running.map { $0?.fraction ?? 0 },
            bytesPerSecond: running.reduce(0) { $0 + ($1?.bytesPerSecond ?? 0) })
    }

    private static func counts(of source: Source) -> TransferProgress {
        let task = source.task
        let isUpload = task is URLSessionUploadTask
        let expected = isUpload ? task.countOfBytesExpectedToSend : task.countOfBytesExpectedToReceive
        return TransferProgress(
            received: isUpload ? task.countOfBytesSent : source.received() ?? task.countOfBytesReceived,
            total: expected == NSURLSessionTransferSizeUnknown ? nil : expected)
    }
}
