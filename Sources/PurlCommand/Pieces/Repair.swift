import Foundation
import Purl
import PurlDownloads
import PurlHTTP

/// `purl get --repair`: replaces the damaged pieces of a file, and requests nothing else.
///
/// Each piece is written over the damaged one when its digest is right, so an interruption leaves the file no worse than it was.
struct Repair: ResumingTransfer {
    struct Report {
        let task: RepairTask.Report?
        let isInterrupted: Bool
    }

    private let options: GetOptions
    private let session: URLSession
    let messages: MessagePrinter
    let display: ProgressDisplay
    private let trace: VerboseLog
    private let checksum: Checksum?
    private var file: CheckedFile
    private let handle: FileHandle
    private var mirrors: MirrorOrder
    private var received: Int64 = 0
    private var repairedPieces: Int64 = 0
    /// The file's length, as a server has said it.
    private var length: Int64?
    private var time = Stopwatch(ContinuousClock())

    private init(
        _ file: CheckedFile, _ handle: FileHandle, _ request: DownloadRequest, _ options: GetOptions,
        in session: URLSession, _ messages: MessagePrinter, _ display: ProgressDisplay
    ) {
        (self.file, self.handle, self.options, self.session) = (file, handle, options, session)
        (self.messages, self.display) = (messages, display)
        checksum = request.checksum
        mirrors = MirrorOrder(request, recorded: nil)
        length = file.expected.length
        trace = VerboseLog(
            console: options.verbosity == .verbose ? messages.console : nil, name: "", messages: messages)
    }

    /// Checks the file of a request, and replaces what is damaged. Cancelling the calling task interrupts it.
    static func run(
        _ request: DownloadRequest, _ options: GetOptions, in session: URLSession, _ messages: MessagePrinter,
        _ display: ProgressDisplay
    ) async -> DownloadOutcome {
        let path = request.output ?? ""
        do throws(CommandFailure) {
            if !messages.isQuiet { display.show({ "checking the pieces" }, name: path) }
            defer { display.hide() }
            let file = try await CheckedFile(path, list: options.digestList, pieceLength: options.pieceLength)
            display.hide()
            let handle: FileHandle
            do {
                handle = try FileHandle(forUpdating: file.file)
            } catch {
                throw CommandFailure("“\(path)” cannot be changed: \(error.reason)")
            }
            defer { try? handle.close() }
            var repair = Repair(file, handle, request, options, in: session, messages, display)
            return try await repair.run()
        } catch .interrupted {
            messages.info("\(path): interrupted", CommandEvent(.interrupted, file: path, url: request.url))
            return .interrupted
        } catch {
            messages.error(error.sentence, CommandEvent(.failed, file: path, url: request.url))
            return .failed
        }
    }

    private mutating func run() async throws(CommandFailure) -> DownloadOutcome {
        guard !file.isRight else {
            return try await finish(
                "nothing to repair, \(ByteText.count(file.length)) in \(file.pieceCount)", "alreadyComplete")
        }
        messages.info(
            "\(name): \(file.findings)",
            event(.checked).with {
                ($0.bytes, $0.total, $0.result) = (file.length, file.expected.length, "damaged")
                $0.damaged = file.damaged.isEmpty ? nil : file.ranges.map { [$0.lowerBound, $0.upperBound] }
            })
        return try await run(AttemptSequence(otherSources: mirrors.otherCount))
    }

    // MARK: ResumingTransfer

    var retries: Int { options.retries }
    var name: String { file.name }
    let number = 0

    func event(_ kind: CommandEvent.Kind) -> CommandEvent {
        CommandEvent(kind, file: file.name, url: mirrors.origin)
    }

    /// Requests the damaged ranges one after another.
    mutating func attempt() async -> Report {
        while let pieces = file.damaged.first {
            var request = URLRequest(url: mirrors.current)
            request.add(options.headers)
            let task = RepairTask(
                pieces, of: file.expected, to: handle, trace: trace, refusal: options.tls.refusal(of:)
            ) { [display, messages, name] task in
                if !messages.isQuiet { display.show(task, name: name) }
            }
            let report = await task.run(request, in: session)
            display.hide()
            received += report.received
            repairedPieces += Int64(report.next - pieces.lowerBound)
            length = length ?? report.length
            file.repaired(upTo: report.next)
            let isWhole = report.error == nil && report.obstacle == nil && report.next > pieces.lowerBound
            guard isWhole else { return Report(task: report, isInterrupted: Task.isCancelled) }
        }
        return Report(task: nil, isInterrupted: false)
    }

    func end(of report: Report) -> AttemptSequence.End {
        guard let task = report.task else { return .complete }
        guard !report.isInterrupted else { return .over }
        let error: any Error
        switch task.obstacle {
        case .file, .refused: return .over
        case .response, .httpError, .wrongPiece: error = URLError(.badServerResponse)
        case nil: error = task.error ?? URLError(.badServerResponse)
        }
        return .failed(AttemptSequence.Failure(error, task.response, of: .source, at: repairedPieces))
    }

    func sentence(of report: Report) -> String {
        guard let task = report.task else { return "Complete." }
        switch task.obstacle {
        case .response(let clause): return "The response \(clause)."
        case .httpError(let status): return AttemptResult.httpError(status: status).sentence
        case .wrongPiece(let piece):
            let bytes = file.expected.bytes(of: piece..<piece + 1, length: task.length ?? .max)
            return "The server's bytes \(bytes.lowerBound)-\(bytes.upperBound - 1) are not those of the list."
        case .file(let error): return "“\(name)” cannot be written: \(error.reason)"
        case .refused(let failure): return failure.sentence
        case nil: return task.error?.sentenceWithAdvice ?? "The response has less than a piece."
        }
    }

    mutating func deliver(_ report: Report) async throws(CommandFailure) -> Delivery<DownloadOutcome> {
        do {
            if let length, file.length > length { try handle.truncate(atOffset: UInt64(length)) }
            try handle.synchronize()
        } catch {
            throw CommandFailure("“\(name)” cannot be written: \(error.reason)")
        }
        let amount = BatchText.amount(length ?? file.length, new: received, in: time.elapsed)
        return .over(try await finish("repaired, \(amount)", "repaired"))
    }

    mutating func prepare(_ next: NextAttempt, because sentence: String) {
        guard case .atNextSource = next else { return }
        mirrors.moveOn()
        messages.info(
            "\(sentence) Trying \(mirrors.origin.shownOrigin)", event(.mirror).with { $0.reason = sentence })
    }

    func conclude(_ report: Report, _ ending: TransferEnding) throws(CommandFailure) -> DownloadOutcome {
        if report.isInterrupted || ending == .interrupted { throw .interrupted }
        try? handle.synchronize()
        guard case .httpError(let status) = report.task?.obstacle else {
            messages.error(sentence(of: report), event(.failed))
            return .failed
        }
        messages.error(sentence(of: report), of: mirrors.origin, event(.failed).with { $0.status = status })
        return .httpError
    }

    /// Says that the file is right, after comparing it with the SHA-256 of the whole, if there is one.
    private mutating func finish(
        _ fact: String, _ result: String
    ) async throws(CommandFailure) -> DownloadOutcome {
        time.pause()
        if let checksum {
            let actual: Checksum
            do {
                actual = try await Checksum.ofFile(at: file.file)
            } catch is CancellationError {
                throw .interrupted
            } catch {
                throw CommandFailure("“\(name)” cannot be read: \(error.reason)")
            }
            guard actual == checksum else {
                throw CommandFailure(
                    "“\(name)” has the wrong SHA-256: \(actual.hexadecimal) instead of \(checksum.hexadecimal). Its pieces are"
                        + " those of the list.")
            }
        }
        let bytes = length ?? file.length
        messages.info(
            "\(name): \(fact)",
            event(.complete).with {
                ($0.result, $0.bytes, $0.newBytes, $0.isChecked) = (result, bytes, received, true)
                $0.seconds = time.elapsed / .seconds(1)
            })
        return .complete(bytes: bytes, new: received)
    }
}
