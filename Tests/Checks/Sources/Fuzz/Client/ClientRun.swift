import Foundation
import PurlHTTP
import PurlIO
import Synchronization

@testable import Purl

/// One session with a scripted server: a few tasks, one after another, and what must hold for each.
final class ClientRun: Sendable {
    /// The kinds of tasks there are.
    enum Kind: CaseIterable, Sendable {
        case data, dataWithHandler, dataAsync, bytes, head
        case download, downloadWithHandler, downloadAsync, resumedDownload
        case upload, uploadStream, sink
    }

    /// What the tasks and their session are like.
    struct Plan: Sendable {
        var kinds: [Kind]
        var manner: Observer.Manner
        var usesCache: Bool
        var hasUser: Bool
        var bufferLimit: Int
        var usesProxy: Bool
        var isCancelled: Bool

        init(_ choices: inout Choices) {
            let count = 1 + choices.number(below: 3)
            kinds = (0..<count).map { _ in choices.one(of: Kind.allCases) }
            let options = choices.byte()
            // Most of the time, what most programs do.
            manner = options & 0x03 == 3 ? choices.one(of: Observer.Manner.allCases) : .allow
            usesCache = options & 0x04 != 0
            hasUser = options & 0x08 != 0
            bufferLimit = options & 0x10 != 0 ? 1 + Int(choices.byte()) : 1 << 20
            usesProxy = options & 0xE0 == 0x20
            isCancelled = options & 0xE0 == 0xE0
        }
    }

    /// What came of a task.
    struct Outcome: Sendable {
        var isSuccess: Bool
        var status: Int?
        var content: Data?
    }

    private let plan: Plan
    private let server: ScriptedServer
    private let files = MemoryFiles()
    private let observer: Observer
    private let session: URLSession
    private let done = DispatchSemaphore(value: 0)
    private let sink = MemorySink()
    /// Bodies of earlier answers, which a cache may give again.
    private let earlier = Mutex<[Data]>([])

    /// The first half of what `resumedDownload` resumes.
    private static let firstHalf = Data("0123456789".utf8)
    /// How many short moments something may take: 20 seconds, in which a process that is held up for a while spends one.
    private static let patience = 200
    private static let moment = DispatchTimeInterval.milliseconds(100)

    init(_ plan: Plan, _ script: ServerScript) {
        self.plan = plan
        let server = onNetworkThread { ScriptedServer(script) }
        self.server = server
        let configuration = URLSessionConfiguration.ephemeral
        var values = configuration.snapshot
        values.files = files
        values.dialler = InProcessDialler(server: server)
        values.limits.bufferedBytesPerTask = plan.bufferLimit
        values.partialDownloadsDirectory = URL(fileURLWithPath: "/partials")
        values.httpMaximumConnectionsPerHost = 1
        values.proxyVariables = [:]
        if !plan.usesCache { values.urlCache = nil }
        if plan.usesProxy {
            values.proxyDictionary = ProxyDictionary([
                kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy: "http://u:p@proxy.example:3128",
            ])
        }
        observer = Observer(plan.manner, files: files, done: done)
        session = URLSession(configuration: URLSessionConfiguration(values), delegate: observer, delegateQueue: nil)
    }

    func run() {
        for kind in plan.kinds {
            let before = onNetworkThread { [server] in server.requestCount }
            let held = sink.content
            let outcome = start(kind)
            let last = onNetworkThread { [server] in server.latest }
            let isAnswered = (last?.number ?? 0) > before
            check(outcome, of: kind, against: isAnswered ? last : nil, sinkHeld: held)
        }
        session.invalidateAndCancel()
        wait("a session ends")
        onNetworkThread { [server] in server.end() }
    }

    // MARK: What must hold

    private func check(
        _ outcome: Outcome, of kind: Kind, against exchange: ScriptedServer.Exchange?, sinkHeld held: Data
    ) {
        guard outcome.isSuccess, plan.manner != .cancel, !plan.isCancelled else { return }
        guard let content = outcome.content else { return }
        let isFromCache = plan.usesCache && earlier.withLock { $0.contains(content) }
        guard let exchange else {
            // A sink that holds all there is asks nothing.
            if kind == .sink {
                return requireSame(content.text, held.text, "\(kind): nothing was asked, nothing comes")
            }
            require(isFromCache, "\(kind): without a request there is no answer but a stored one")
            return
        }
        guard let expected = ExpectedResponse(exchange) else {
            require(isFromCache, "\(kind): what is not whole is not a success: \(exchange.answer.text)")
            return
        }
        if exchange.request.method == "GET" { earlier.withLock { $0.append(Data(expected.content)) } }
        if plan.usesCache, expected.head.status == 304 || expected.head.status >= 500 { return }
        var whole = Data(expected.content)
        if let start = exchange.request.fields["Range"].flatMap({ ByteRangeSet($0) })?.ranges.first {
            let old = kind == .sink ? held : Self.firstHalf
            if case .from(let offset) = start, expected.head.status == 206 { whole = old.prefix(Int(offset)) + whole }
            if expected.head.status == 416 { whole = old }
        }
        if kind == .sink, expected.head.status != 200, expected.head.status != 206 { return }
        requireSame(
            content.text, whole.text, "\(kind): what arrives is what was sent as the answer to this request alone")
        if kind != .resumedDownload, kind != .sink {
            requireSame(outcome.status, expected.head.status, "\(kind): so is the status")
        }
    }

    // MARK: Tasks

    private var request: URLRequest {
        let user = plan.hasUser ? "user:pass@" : ""
        return URLRequest(url: URL(string: "http://\(user)example.com/a") ?? URL(fileURLWithPath: "/"))
    }

    private func wait(_ property: String) {
        for _ in 0..<Self.patience where done.wait(timeout: .now() + Self.moment) == .success { return }
        fail(property)
    }

    private func start(_ kind: Kind) -> Outcome {
        switch kind {
        case .data: return observed(session.dataTask(with: request))
        case .head:
            var request = request
            request.httpMethod = "HEAD"
            return observed(session.dataTask(with: request))
        case .download: return observed(session.downloadTask(with: request))
        case .resumedDownload:
            guard let data = resumeData() else { fail("resume data can be written") }
            return observed(session.downloadTask(withResumeData: data))
        case .upload:
            var request = request
            request.httpMethod = "PUT"
            return observed(session.uploadTask(with: request, from: Data(repeating: 0x61, count: 3000)))
        case .uploadStream:
            var request = request
            request.httpMethod = "POST"
            request.httpBodyStream = InputStream(data: Data(repeating: 0x62, count: 3000))
            return observed(session.dataTask(with: request))
        case .sink: return observed(session.dataTask(with: request, writingTo: sink), into: sink)
        case .dataWithHandler, .downloadWithHandler: return handled(kind)
        case .dataAsync, .bytes, .downloadAsync: return awaited(kind)
        }
    }

    private func observed(_ task: URLSessionTask, into sink: MemorySink? = nil) -> Outcome {
        task.resume()
        if plan.isCancelled { task.cancel() }
        wait("a task ends")
        let account = observer.account(of: task)
        if let file = account.file, account.resumedAt == nil, account.written > 0 {
            requireSame(account.written, Int64(file.count), "progress ends with the file's size")
        }
        let isDownload = task is URLSessionDownloadTask
        if isDownload, account.error == nil { require(account.file != nil, "success brings a file") }
        return Outcome(
            isSuccess: account.error == nil, status: (task.response as? HTTPURLResponse)?.statusCode,
            content: sink?.content ?? (plan.manner == .becomeDownload || isDownload ? account.file : account.content))
    }

    private func handled(_ kind: Kind) -> Outcome {
        let result = Mutex<Outcome?>(nil)
        let take = { @Sendable [done] (content: Data?, response: URLResponse?, error: (any Error)?) in
            result.withLock { result in
                require(result == nil, "a handler is called once")
                require(error != nil || response != nil, "with a response or an error")
                result = Outcome(
                    isSuccess: error == nil, status: (response as? HTTPURLResponse)?.statusCode, content: content)
            }
            done.signal()
        }
        let task: URLSessionTask =
            if kind == .dataWithHandler {
                session.dataTask(with: request, completionHandler: take)
            } else {
                session.downloadTask(with: request) { [files] in take($0.flatMap { files.contents($0.path) }, $1, $2) }
            }
        task.resume()
        if plan.isCancelled { task.cancel() }
        wait("a handler is called")
        return result.withLock { $0 } ?? Outcome(isSuccess: false)
    }

    private func awaited(_ kind: Kind) -> Outcome {
        let result = Mutex<Outcome?>(nil)
        let (session, request, done) = (session, request, done)
        let task = Task { [files] in
            do {
                var content = Data()
                let response: URLResponse
                switch kind {
                case .bytes:
                    let (bytes, head) = try await session.bytes(for: request)
                    for try await byte in bytes { content.append(byte) }
                    response = head
                case .downloadAsync:
                    let (file, head) = try await session.download(for: request)
                    content = files.contents(file.path) ?? Data()
                    files.remove(file.path)
                    response = head
                default: (content, response) = try await session.data(for: request)
                }
                let outcome = Outcome(
                    isSuccess: true, status: (response as? HTTPURLResponse)?.statusCode, content: content)
                result.withLock { $0 = outcome }
            } catch {
                result.withLock { $0 = Outcome(isSuccess: false) }
            }
            done.signal()
        }
        if plan.isCancelled { task.cancel() }
        wait("an async call returns")
        return result.withLock { $0 } ?? Outcome(isSuccess: false)
    }

    private func resumeData() -> Data? {
        let name = "purl-0e5b4b9e-6f2c-4c59-9d56-0b9d1a4a8e52.partial"
        let path = "/partials/" + name
        files.remove(path)
        guard let file = try? files.open(path, .creating), (try? file.write(Self.firstHalf.bytes, at: 0)) != nil else {
            return nil
        }
        let stored = StoredRequest(request)
        return try? ResumeData(
            originalRequest: stored, currentRequest: stored, partialName: name, bytesReceived: 10, totalBytes: 20,
            validator: "\"v1\"", tailDigest: Self.firstHalf.sha256
        ).encoded()
    }
}

extension Collection<UInt8> {
    /// For people.
    fileprivate var text: String { String(decoding: self, as: UTF8.self).debugDescription }
}

extension FuzzTarget {
    /// A whole client and a server that the input scripts: the first bytes choose the tasks, the rest is a
    /// ``ServerScript``. Each task ends exactly once; a success brings what was sent as the answer to its request,
    /// no byte more and none less, whatever came before it on the connection.
    static let client = FuzzTarget("client") { bytes in
        var choices = Choices(bytes)
        let plan = ClientRun.Plan(&choices)
        ClientRun(plan, ServerScript(choices.remainder())).run()
    }
}
