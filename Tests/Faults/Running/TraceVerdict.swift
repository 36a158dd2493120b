internal import Foundation
internal import Purl
internal import PurlTrace

/// Looks for what cannot have happened in the trace of a cell, and whether it can be drawn and saved.
struct TraceVerdict {
    /// What the cells' users answer challenges with: in the clear, and as it is sent.
    private static let secrets = ["user:word", Data("user:word".utf8).base64EncodedString()]

    private let cell: Cell
    private let recording: TransferTrace.Recording
    private let report: Report

    init(_ trace: TransferTrace, of cell: Cell, _ report: Report) {
        self.cell = cell
        recording = trace.recording
        self.report = report
    }

    func judge() {
        judgeCalls()
        judgeTasks()
        judgeExchanges()
        judgeForms()
    }

    /// A call waits, begins and ends, once each, and two of one delegate never at the same time.
    private func judgeCalls() {
        var waiting: Set<Int> = []
        var running: [Int] = []
        for event in recording.events {
            switch event.kind {
            case .queued(let call): check(waiting.insert(call.number).inserted, event, "waits twice")
            case .began(let call):
                check(waiting.remove(call.number) != nil, event, "has not waited")
                guard event.lane == .delegateQueue else { continue }
                check(running.isEmpty, event, "another call is running")
                running.append(call.number)
            case .ended(let call):
                guard event.lane == .delegateQueue else { continue }
                check(running.popLast() == call.number, event, "it was not running")
            default: break
            }
        }
        report.check(running.isEmpty, "a call has not ended in the trace")
    }

    /// A task is made once, and is over once, unless another takes its place; then nothing of it happens on the network
    /// thread but its last calls. Answers may come late, and have no effect.
    private func judgeTasks() {
        var tasks: Set<Int> = []
        var replaced: Set<Int> = []
        var over: Set<Int> = []
        for event in recording.events {
            guard let task = event.task else { continue }
            switch event.kind {
            case .made: check(tasks.insert(task).inserted, event, "made twice")
            case .completed: check(over.insert(task).inserted, event, "over twice")
            case .replaced: replaced.insert(task)
            case .queued, .answer, .file: break
            default: check(event.lane != .network || !over.contains(task), event, "the task is over")
            }
        }
        report.check(over == tasks.subtracting(replaced), "tasks \(tasks) of the trace, of which \(over) are over")
    }

    /// What is received belongs to a request, and nothing is after the end of its response.
    private func judgeExchanges() {
        var requests: Set<Int> = []
        var over: Set<Int> = []
        for event in recording.events {
            guard let exchange = event.exchange else { continue }
            switch event.kind {
            case .requestHead: check(requests.insert(exchange).inserted, event, "a second head")
            case .responseHead, .interimHead, .bodyReceived:
                check(requests.contains(exchange), event, "no request")
                check(!over.contains(exchange), event, "the exchange is over")
            case .responseEnd, .exchangeFailed, .abandoned:
                check(over.insert(exchange).inserted, event, "the exchange is over")
            default: break
            }
        }
    }

    /// Every form can be made, says something, and holds no secret.
    private func judgeForms() {
        for format in forms {
            do {
                let data = try format.data(of: recording)
                report.check(!data.isEmpty, "nothing in the trace as \(format)")
                for secret in Self.secrets {
                    report.check(data.range(of: Data(secret.utf8)) == nil, "a secret in the trace as \(format)")
                }
                switch format {
                case .archive: _ = try JSONSerialization.jsonObject(with: data)
                case .recording:
                    let read = try TransferTrace.Recording(json: data)
                    report.check(read.events == recording.events, "the saved trace is another one")
                case .text, .diagram, .page, .capture, .trace: break
                }
            } catch {
                report.note("no trace as \(format): \(error)")
            }
        }
    }

    /// All in a simulation, where every cell is acted out. Under OpenSSL the recording of each, which is read back, and all of a
    /// fault's with one kind of task: making them takes as long as all else of a cell.
    private var forms: [TraceFormat] {
        let isChosen = cell.medium.isSimulated || cell.kind == TaskKind.allCases.first { cell.fault.fits($0) }
        // A saved recording has two names.
        return isChosen ? TraceFormat.allCases.filter { $0 != .trace } : [.recording]
    }

    private func check(_ condition: Bool, _ event: TransferTrace.Event, _ problem: String) {
        report.check(condition, "in the trace, task \(event.task ?? 0), \(event.kind): \(problem)")
    }
}
