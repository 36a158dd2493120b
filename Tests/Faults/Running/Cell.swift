internal import Foundation
package import Purl
internal import PurlIO
package import PurlSimulation
internal import PurlTesting
import Synchronization

/// One place in the matrix: a fault that a task of some kind meets.
package struct Cell: Sendable, CustomStringConvertible {
    package let fault: Fault
    package let kind: TaskKind
    package let medium: Medium

    package var description: String { "\(fault), \(kind), \(medium)" }

    /// How long a cell may take, in seconds, on a machine however busy.
    private static let patience = 90.0

    /// Acts it out. Returns what was wrong, in words; nothing when all was right.
    ///
    /// - Parameter seed: What decides, in a simulation, all that is left to chance.
    package func run(_ seed: Seed = 1) async -> [String] {
        let report = Report()
        if medium.isSimulated {
            await withCheckedContinuation { continuation in
                // It blocks its thread.
                Thread.detachNewThread {
                    simulate(seed, report)
                    continuation.resume()
                }
            }
            return report.problems.map { "seed \(seed): \($0)" }
        }
        // An alarm needs a descriptor, and the system's queues do not survive it when there is none.
        if fault.isProcessWide {
            await act(report)
            return report.problems
        }
        let (_, isInTime) = await within(seconds: Self.patience) { await act(report) }
        if !isInTime { report.note("not over within \(Int(Self.patience)) seconds") }
        return report.problems
    }

    private func simulate(_ seed: Seed, _ report: Report) {
        do {
            try Simulation(seed).run { world in try await perform(report, in: world) }
        } catch {
            report.note("\(error.reason)")
        }
    }

    private func act(_ report: Report) async {
        do {
            try await perform(report, in: nil)
        } catch {
            report.note("could not be staged: \(error)")
        }
    }

    private func perform(_ report: Report, in world: World?) async throws {
        let stage = try Stage(medium, in: world)
        let url = kind.isStreamTask ? Stage.streamURL(fault.url(stage)) : fault.url(stage)
        let resumeData = kind.isResumed ? try await stage.makeResumeData(at: url) : nil
        stage.beginCounting()
        try fault.prepare(stage)
        if kind.isStream, let script = fault.script(stage) { stage.speak(script, afterHead: kind == .becomingStream) }
        let traces = Traces()
        let trace = medium.isTraced ? TransferTrace(options: .keepingContent) : nil
        let sight = await load(url, resumeData, on: stage, traces, report, trace)
        stage.gate.open()
        await stage.server.waitUntilDisconnected()
        let refused = stage.server.record.badRequests
        report.check(refused.isEmpty, "what was sent is no HTTP: \(refused)")
        report.check(await traces.areGone(), "session, task or delegate are still there")
        Verdict(cell: self, url: url, stage: stage).judge(sight, report)
        if let trace { TraceVerdict(trace, of: self, report).judge() }
        if let resumeData = (sight.error as? URLError)?.downloadTaskResumeData {
            try await checkResuming(with: resumeData, on: stage, report)
        }
    }

    /// Acts it out to be looked at, under a clock that is turned by hand when nothing else happens any more.
    ///
    /// - Returns: What happened, and the task's error.
    package func film() async throws -> (recording: TransferTrace.Recording, error: (any Error)?) {
        let stage = try Stage(medium, port: 8080)
        let url = fault.url(stage)
        try fault.prepare(stage)
        var options = TransferTrace.Options.keepingContent
        options.startDate = Date(timeIntervalSince1970: 0)
        let trace = TransferTrace(options: options)
        let sight = await load(url, nil, on: stage, Traces(), Report(), trace, isFilmed: true)
        stage.gate.open()
        await stage.server.waitUntilDisconnected()
        return (trace.recording, sight.error)
    }

    /// Everything from the session's making to its end.
    ///
    /// - Parameter isFilmed: Nothing is loaded but what the fault is about, and time stands still.
    private func load(
        _ url: URL, _ resumeData: Data?, on stage: Stage, _ traces: Traces, _ report: Report, _ trace: TransferTrace?,
        isFilmed: Bool = false
    ) async -> Observer.Sight {
        let configuration = stage.configuration(background: kind.isBackground ? "matrix.\(UUID().uuidString)" : nil)
        // A background session repeats what times out for that long: a week by default.
        if kind.isBackground { configuration.timeoutIntervalForResource = 90 }
        if kind == .resumableUpload { configuration.resumableUploads = .always }
        configuration.trace = trace
        fault.configure(configuration, stage)
        // In a simulation it passes by itself.
        let passesTime = fault.passesTime(for: kind) && !stage.isSimulated
        if isFilmed || passesTime { configuration.clock = stage.clock }
        let queue = stage.isSimulated ? nil : OperationQueue()
        let meddler = Meddler(fault.meddling, stage)
        let observer = Observer(
            queue: queue, isAwaited: kind.resultStyle == .async,
            disposition: kind == .becomingDownload ? .becomeDownload : kind == .becomingStream ? .becomeStream : .allow,
            stream: { Loading.stream(of: stage) }, hook: { meddler.observe($0, $1) })
        let session = URLSession(configuration: configuration, delegate: observer, delegateQueue: queue)
        let loading = Loading(kind, on: stage, in: session, observer)
        meddler.follow(loading)
        if let queue { fault.disturb?(queue, stage) }
        fault.meanwhile(stage)
        var request = URLRequest(url: url)
        if kind.isUpload { request.httpMethod = "POST" }
        if kind == .becomingStream { request.setValue("raw", forHTTPHeaderField: "Upgrade") }
        fault.changeRequest(&request)
        loading.prepare(request, resumeData, sink: fault.sink(stage))
        traces.task = loading.task
        traces.session = session
        traces.observer = observer
        fault.changeTask(loading.task)
        meddler.act(at: .beforeResume)
        loading.begin(request, resumeData)
        meddler.act(at: .afterResume)
        await meddler.waitForGate()
        if fault.waitsForGate { await stage.gate.reached() }
        if passesTime, isFilmed {
            let time = Task {
                while !Task.isCancelled {
                    await Self.settle()
                    await stage.clock.waitForDeadlines(1)
                    stage.clock.advanceToNextDeadline()
                }
            }
            await observer.over()
            time.cancel()
            await time.value
        } else if passesTime {
            await stage.clock.passTime { await observer.over() }
        } else {
            await observer.over()
        }
        stage.relieve()
        if !isFilmed { await checkSession(session, stage, report) }
        meddler.letGo()
        loading.letGo()
        session.finishTasksAndInvalidate()
        await observer.invalid()
        return observer.sight.value
    }

    /// Returns when the network thread has had time for all that is under way.
    private static func settle() async {
        for _ in 0..<1000 {
            await withCheckedContinuation { continuation in NetworkActor.post { continuation.resume() } }
        }
    }

    /// What went wrong with one task is nothing to the next: above all, no byte of that answer may be taken for this one.
    private func checkSession(_ session: URLSession, _ stage: Stage, _ report: Report) async {
        guard fault.checksSession, !kind.isBackground, fault.meddling?.act.invalidates != true else { return }
        stage.server.stream(nil)
        do {
            try stage.secure()
            let (data, _) = try await session.data(from: stage.url("/after"))
            report.check(data == Data("after".utf8), "the next request was answered with \(data.count) other bytes")
        } catch {
            report.note("the next request failed: \(error.failureSentence)")
        }
    }

    /// Resume data is a promise: with a good server, it leads to the whole resource.
    private func checkResuming(with data: Data, on stage: Stage, _ report: Report) async throws {
        guard fault.checksSession else { return }
        do {
            let file = try await stage.resume(with: data)
            report.check(stage.content.data == file, "the resumed download brought something else")
        } catch {
            report.note("the resume data is of no use: \(error.failureSentence)")
        }
        report.check(stage.partialNames.isEmpty, "a partial file is left after the resumed download")
    }
}

extension TransferTrace.Options {
    /// The bytes of bodies are there to be exported, but not all.
    fileprivate static var keepingContent: TransferTrace.Options {
        var options = TransferTrace.Options()
        options.maximumContent = 5000
        return options
    }
}

/// What was wrong with a cell.
final class Report: Sendable {
    private let state = Mutex<[String]>([])

    var problems: [String] { state.withLock { $0 } }

    func note(_ problem: String) {
        state.withLock { $0.append(problem) }
    }

    func check(_ condition: Bool, _ problem: @autoclosure () -> String) {
        if !condition { note(problem()) }
    }
}

/// Weak references to what has to go away.
private final class Traces {
    weak var session: URLSession?
    weak var task: URLSessionTask?
    weak var observer: Observer?

    /// Looks whenever the network thread has done its work until all are gone, or until the cell's time is up.
    func areGone() async -> Bool {
        while session != nil || task != nil || observer != nil {
            if Task.isCancelled { return false }
            await withCheckedContinuation { continuation in NetworkActor.post { continuation.resume() } }
        }
        return true
    }
}

/// Runs work that has to be over in so many seconds of the wall's clock; then its task is cancelled, at which all waiting
/// here ends.
///
/// - Returns: What the work returned, and whether it was in time.
func within<Result: Sendable>(
    seconds: Double, _ work: @escaping @Sendable () async -> Result
) async -> (result: Result, isInTime: Bool) {
    let task = Task { (await work(), !Task.isCancelled) }
    let alarm = DispatchWorkItem { task.cancel() }
    DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: alarm)
    defer { alarm.cancel() }
    return await task.value
}
