import Foundation
import Purl
import PurlSimulation
import PurlTesting

extension Scenario {
    /// A data task that becomes a download or a stream, now or when its delegate has thought about it, and that its user, who
    /// knows the data task alone, suspends and resumes at any moment.
    static let becomingTasks = Scenario("becoming-tasks") { world in
        let dice = Dice(world.seed, "becoming-tasks")
        let content = GeneratedContent(size: dice.number(1...90_000), seed: 9)
        let url = world.server("mirror.example").route("/film", .generated(content).entityTag("\"v1\""))
        if dice.oneIn(2) { world.chaos = .network }
        let place = world.computer("laptop").home.appendingPathComponent("film")
        let delegate = BecomingDelegate(
            dice.oneIn(3) ? .becomeStream : .becomeDownload, keeper: Keeper(place: { _ in place }),
            thinking: {
                try? await world.sleep(for: dice.oneIn(2) ? dice.moment() : .milliseconds(dice.number(0...500)))
            })
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        for _ in 0..<100 {
            let task = session.dataTask(with: url)
            task.resume()
            let suspensions = (0..<dice.index(below: 4)).map { _ in
                // Before there is a response, and after.
                let (moment, length) = (Duration.milliseconds(dice.number(0...800)), dice.moment())
                return Task {
                    try await world.sleep(for: moment)
                    task.suspend()
                    try await world.sleep(for: length)
                    task.resume()
                }
            }
            let cancelled = dice.oneIn(6)
            let moment = dice.moment()
            let cancelling = Task {
                guard cancelled else { return }
                try await world.sleep(for: moment)
                delegate.cancel(task)
            }
            let (seen, bytes) = await delegate.end(of: task, reading: content.size)
            for suspension in suspensions { try await suspension.value }
            try await cancelling.value
            try require(seen.problem == nil, seen.problem ?? "")
            try require(seen.completions == 1, "\(seen.completions) completions")
            if let bytes {
                try require(content.data.starts(with: bytes), "\(bytes.count) bytes are not those of the server")
            } else if seen.error == nil {
                let file = try seen.file ?? { throw Unmet("no file and no error") }()
                try require(try content.matches(fileAt: file), "the file is not the server's")
            }
            if bytes.map({ $0.count == content.size }) ?? (seen.error == nil) {
                session.finishTasksAndInvalidate()
                await delegate.keeper.invalidation()
                return
            }
            try require(cancelled || !world.chaos.isEmpty, "without a fault: \(String(describing: seen.error))")
            try await world.sleep(for: .milliseconds(500))
        }
        throw Unmet("a hundred attempts, and no content")
    }
}

/// Lets data tasks become other tasks, of which a keeper keeps the calls.
private final class BecomingDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    private struct State {
        /// The tasks that have taken the place of data tasks, by the identifiers of these.
        var replacements: [Int: URLSessionTask] = [:]
        /// The data tasks that the user has cancelled. What they become is cancelled, too.
        var cancelled: Set<Int> = []
    }

    let keeper: Keeper
    private let disposition: URLSession.ResponseDisposition
    private let think: @Sendable () async -> Void
    private let state = Notes(State())

    init(
        _ disposition: URLSession.ResponseDisposition, keeper: Keeper,
        thinking think: @escaping @Sendable () async -> Void
    ) {
        (self.disposition, self.keeper, self.think) = (disposition, keeper, think)
    }

    /// Cancels a data task, or what it has become.
    func cancel(_ task: URLSessionDataTask) {
        let replacement = state.change { state in
            state.cancelled.insert(task.taskIdentifier)
            return state.replacements[task.taskIdentifier]
        }
        task.cancel()
        replacement?.cancel()
    }

    /// Returns what was seen of a data task, or of the one it has become, and the bytes that a stream has brought.
    func end(of task: URLSessionDataTask, reading count: Int) async -> (Keeper.Seen, Data?) {
        _ = await keeper.completion(of: task)
        guard let replacement = state.value.replacements[task.taskIdentifier] else { return (keeper.seen(task), nil) }
        guard let stream = replacement as? URLSessionStreamTask else {
            return (await keeper.completion(of: replacement), nil)
        }
        var (bytes, isOver) = (Data(), false)
        while !isOver, bytes.count < count {
            let read = try? await stream.readData(ofMinLength: 1, maxLength: 5_000, timeout: 0)
            bytes += read?.0 ?? Data()
            isOver = read?.1 ?? true
        }
        stream.cancel()
        return (await keeper.completion(of: stream), bytes)
    }

    private func replace(_ task: URLSessionDataTask, by replacement: URLSessionTask, in session: URLSession) {
        let number = task.taskIdentifier
        let isCancelled = state.change { state in
            state.replacements[number] = replacement
            return state.cancelled.contains(number)
        }
        if isCancelled { replacement.cancel() }
        // This is the last call about it.
        keeper.urlSession(session, task: task, didCompleteWithError: nil)
    }

    // MARK: Delegate

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        Task { [think, disposition] in
            await think()
            completionHandler(disposition)
        }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
    ) {
        replace(dataTask, by: downloadTask, in: session)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask) {
        replace(dataTask, by: streamTask, in: session)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        keeper.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        keeper.urlSession(session, task: task, didCompleteWithError: error)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        keeper.urlSession(session, didBecomeInvalidWithError: error)
    }
}
