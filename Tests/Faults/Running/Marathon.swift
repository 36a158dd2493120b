internal import Foundation
internal import Purl
internal import PurlTesting

/// Transfers one after the other in a few lasting sessions, each meeting another fault of the matrix.
package struct Marathon: Sendable {
    /// How the transfers ended.
    package struct Tally: Sendable {
        package private(set) var transfers = 0
        /// How many ended in which way.
        package private(set) var outcomes: [String: Int] = [:]

        package mutating func add(_ other: Tally) {
            transfers += other.transfers
            outcomes.merge(other.outcomes, uniquingKeysWith: +)
        }

        fileprivate mutating func count(_ error: (any Error)?) {
            transfers += 1
            let outcome = error.map { "URLError \(($0 as? URLError)?.code.rawValue ?? 0)" } ?? "success"
            outcomes[outcome, default: 0] += 1
        }
    }

    /// How many sessions there are, and so many transfers at a time.
    private static let lanes = 4
    /// Faults that come from the server alone.
    private static let faults =
        Fault.phases + Fault.lost + Fault.malformed + Fault.surplus + Fault.codings + Fault.fields + Fault.challenges
        + Fault.redirects + Fault.handshakes + Fault.records
    private static let kinds = TaskKind.allCases.filter { !$0.isBackground && !$0.isStream }

    private let transfers: Int
    private let medium: Medium

    package init(transfers: Int, over medium: Medium) {
        self.transfers = transfers
        self.medium = medium
    }

    /// Returns when all are over and everything that was made for them is gone.
    package func run() async -> Tally {
        await withTaskGroup(of: Tally.self) { group in
            for lane in 0..<Self.lanes {
                group.addTask { (try? await run(lane: lane)) ?? Tally() }
            }
            return await group.reduce(into: Tally()) { $0.add($1) }
        }
    }

    private func run(lane: Int) async throws -> Tally {
        let stage = try Stage(medium)
        let configuration = stage.configuration()
        configuration.clock = stage.clock
        let session = URLSession(configuration: configuration)
        var tally = Tally()
        for number in stride(from: lane, to: transfers, by: Self.lanes) {
            // Two numbers without a common factor: every kind meets every fault some time.
            let fault = Self.faults[number % Self.faults.count]
            let kind = Self.kinds[number / Self.lanes % Self.kinds.count]
            guard fault.kinds(kind), fault.fits(medium) else { continue }
            tally.count(try await load(kind, fault, on: stage, in: session))
            try stage.secure()
            stage.server.forgetRequests()
        }
        session.invalidateAndCancel()
        await stage.server.waitUntilDisconnected()
        return tally
    }

    private func load(
        _ kind: TaskKind, _ fault: Fault, on stage: Stage, in session: URLSession
    ) async throws -> (any Error)? {
        let url = fault.url(stage)
        let resumeData = kind.isResumed ? try await stage.makeResumeData(at: url) : nil
        try fault.prepare(stage)
        let observer = Observer(
            queue: session.delegateQueue, isAwaited: kind.resultStyle == .async,
            disposition: kind == .becomingDownload ? .becomeDownload : .allow,
            stream: { Loading.stream(of: stage) }, hook: { _, _ in })
        let loading = Loading(kind, on: stage, in: session, observer)
        var request = URLRequest(url: url)
        if kind.isUpload { request.httpMethod = "POST" }
        fault.changeRequest(&request)
        loading.prepare(request, resumeData, sink: FileHandleSink(fileAt: stage.sinkFile))
        loading.task?.delegate = observer
        loading.begin(request, resumeData)
        if fault.passesTime {
            await stage.clock.passTime { await observer.over() }
        } else {
            await observer.over()
        }
        loading.letGo()
        stage.removePartials()
        try? FileManager.default.removeItem(at: stage.sinkFile)
        return observer.sight.value.error
    }
}
