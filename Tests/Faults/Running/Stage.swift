internal import Foundation
internal import Purl
internal import PurlIO
internal import PurlSimulation
internal import PurlTLS
internal import PurlTesting
import Synchronization

/// What one cell of the matrix is acted out on: a server, a folder, names, a clock.
final class Stage: Sendable {
    static let path = "/file"
    static let tag = "\"v1\""
    /// Where an earlier attempt ended.
    static let openingLength = 10_000
    static let hostName = "host.test"

    /// Who issues the certificates of all stages.
    private static let authority = TestAuthority()
    /// What trusts them. OpenSSL is not needed where it is not used.
    private static let provider = Result { SystemTLS(trusting: try authority.rootDER) }

    let server: LoopbackServer
    let medium: Medium
    /// The server's place in a simulation.
    private let host: Server?
    /// How the medium reaches the server in memory.
    private let connector: Mutex<any Connector>
    let folder: URL
    /// Where servers that stall wait.
    let gate = ServerGate()
    /// What time it is for sessions that ask for this clock.
    let clock = ManualClock()
    let names: ScriptedNames
    let files = FaultyFiles()
    /// The resource.
    let content: GeneratedContent

    /// - Parameters:
    ///   - medium: What carries the bytes.
    ///   - content: The resource; by default its size is in the middle of everything.
    ///   - port: The server's; 0 for one that is free.
    ///   - world: The simulation it is acted out in; `nil` on this machine.
    init(
        _ medium: Medium = .tcp, content: GeneratedContent = GeneratedContent(size: 40_000, seed: 9), port: UInt16 = 0,
        in world: World? = nil
    ) throws {
        self.medium = medium
        host =
            medium == .secure ? world?.secureServer(Self.address, port: 8443) : world?.server(Self.address, port: 8080)
        server = try host?.server ?? LoopbackServer(medium.transport, port: port)
        connector = Mutex(medium == .tls ? try server.connector(tls: ServerTLS(Self.authority)) : server.connector)
        self.content = content
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("purl-fault-\(UUID().uuidString)")
        names = ScriptedNames(port: server.port)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        server.route("/after", .text("after"))
        try content.data.prefix(12_000).write(to: uploadFile)
    }

    deinit {
        relieve()
        gate.open()
        try? FileManager.default.removeItem(at: folder)
    }

    /// The resource as a good server sends it.
    var resource: Reply { .generated(content).entityTag(Self.tag) }

    private static let address = "127.0.0.1"

    /// The URL of a path on the server, which begins with `/`.
    func url(_ path: String) -> URL { url(path, on: Self.address) }

    /// The URL of a path on a host that is the server.
    func url(_ path: String, on host: String) -> URL {
        URL(string: "\(medium.scheme)://\(host):\(server.port)\(path)") ?? server.url(path)
    }

    /// From now on the server answers like this.
    func answer(_ reply: Reply, at path: String = Stage.path) {
        server.route(path, reply)
    }

    /// From now on the server refuses connections.
    func refuse() {
        if let host { host.stop() } else { server.stop() }
    }

    /// From now on the server makes its connections secure like this; without a change, as it should.
    func secure(_ change: (ServerTLS) -> ServerTLS = { $0 }) throws {
        guard medium == .tls else { return }
        let changed = try server.connector(tls: change(ServerTLS(Self.authority)))
        connector.withLock { $0 = changed }
    }

    /// Whether all of it is in a simulation.
    var isSimulated: Bool { host != nil }

    // MARK: Streams

    /// What a client of a stream asks with.
    static let question = "the resource, please\n"

    /// What a good server does with a stream.
    var script: StreamScript { .listening.expect(Self.question).send(content).finish() }

    /// It waits at the gate when it has sent so many bytes of the resource.
    func script(waitingAfter count: Int) -> StreamScript {
        .listening.expect(Self.question).send(content.bytes(0..<count)).wait(at: gate)
            .send(content.bytes(count..<content.size)).finish()
    }

    /// From now on the server speaks no HTTP, or only until it has switched.
    func speak(_ script: StreamScript, afterHead: Bool) {
        if afterHead { answer(.stream(script)) } else { server.stream(script) }
    }

    /// What errors of a stream to that server speak of.
    static func streamURL(_ url: URL) -> URL {
        URL(string: "tcp://\(url.host() ?? ""):\(url.port ?? 0)") ?? url
    }

    /// How many requests came before the cell's own.
    var earlierRequests: Int { startedAfter.withLock { $0 } }

    private let startedAfter = Mutex(0)

    /// The cell's own requests come from now on.
    func beginCounting() {
        startedAfter.withLock { $0 = server.record.completeRequests }
    }

    // MARK: Descriptors

    private let exhaustion = Mutex<Exhaustion?>(nil)

    /// From now on the process can open only so many descriptors more.
    ///
    /// - Parameter rest: One at least, which is Dispatch's: it ends the process when it has none as it looks after its threads,
    ///   once a second.
    func exhaust(leaving rest: Int) {
        exhaustion.withLock { $0 = Exhaustion(leaving: rest) }
    }

    /// It can again.
    func relieve() {
        let last = exhaustion.withLock { exhaustion in
            defer { exhaustion = nil }
            return exhaustion
        }
        last?.end()
    }

    // MARK: Files

    var partials: URL { folder.appendingPathComponent("partials") }
    var background: URL { folder.appendingPathComponent("background") }
    var sinkFile: URL { folder.appendingPathComponent("sink") }
    var uploadFile: URL { folder.appendingPathComponent("upload") }

    /// The partial files that lie about, of whatever session.
    var partialNames: [String] {
        partialFolders.flatMap { Self.contents(of: $0) }.map(\.lastPathComponent).sorted()
    }

    /// Removes the folders of partial files, and what is in them.
    func removePartials() {
        for folder in partialFolders { try? FileManager.default.removeItem(at: folder) }
    }

    private var partialFolders: [URL] {
        [partials] + Self.contents(of: background).map { $0.appendingPathComponent("Partials") }
    }

    private static func contents(of folder: URL) -> [URL] {
        (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    }

    // MARK: Sessions

    func configuration(background identifier: String? = nil) -> URLSessionConfiguration {
        let configuration = identifier.map { .background(withIdentifier: $0) } ?? URLSessionConfiguration.ephemeral
        configuration.partialDownloadsDirectory = partials
        configuration.backgroundSessionsDirectory = background
        configuration.httpCookieStorage = HTTPCookieStorage()
        configuration.urlCredentialStorage = URLCredentialStorage()
        configuration.nameResolver = names
        if medium != .tcp, host == nil {
            configuration.connector = StageConnector(
                server: { [self] in connector.withLock { $0 } }, port: server.port, names: names)
        }
        if medium == .tls { configuration.tlsProvider = try? Self.provider.get() }
        configuration.files = files
        return configuration
    }

    /// Downloads the beginning of the resource, and is cut off. What is left of that is what a resumed download starts
    /// from.
    func makeResumeData(at url: URL) async throws -> Data {
        answer(resource.cut(afterBytes: Self.openingLength))
        let session = URLSession(configuration: configuration())
        defer { session.invalidateAndCancel() }
        do {
            _ = try await session.download(from: url)
        } catch let error as URLError {
            if let data = error.downloadTaskResumeData { return data }
            throw error
        }
        throw URLError(.unknown)
    }

    /// Resumes a download on a machine on which all is well again. Returns its content.
    func resume(with resumeData: Data) async throws -> Data {
        answer(resource)
        names.behave()
        files.behave()
        let session = URLSession(configuration: configuration())
        defer { session.invalidateAndCancel() }
        let (file, _) = try await session.download(resumeFrom: resumeData)
        defer { try? FileManager.default.removeItem(at: file) }
        return try Data(contentsOf: file)
    }
}

/// A resolver that knows one host, and answers for it as its cell wants.
final class ScriptedNames: Resolver {
    typealias Answer = @Sendable (Result<[SocketAddress], ResolveError>) -> Void

    private let honest: [SocketAddress]
    private let script: Mutex<@Sendable (String, @escaping Answer) -> Void>

    /// - Parameter port: The server's, which listens on 127.0.0.1.
    init(port: UInt16) {
        let address = SocketAddress.loopback(port: port)
        honest = [address]
        script = Mutex { _, answer in answer(.success([address])) }
    }

    /// From now on the resolver does this with each question.
    func answer(by act: @escaping @Sendable (_ host: String, _ answer: @escaping Answer) -> Void) {
        script.withLock { $0 = act }
    }

    /// From now on it answers with the right addresses.
    func behave() {
        let honest = honest
        answer { _, answer in answer(.success(honest)) }
    }

    func resolve(_ host: String, port: UInt16, then: @escaping Answer) -> Task<Void, Never>? {
        let act = script.withLock { $0 }
        act(host, then)
        return nil
    }
}

/// The descriptors that the process may have, taken but for a few.
final class Exhaustion: Sendable {
    private let taken: [Int32]
    private let limit: rlimit

    init(leaving rest: Int) {
        var limit = rlimit()
        getrlimit(Self.resource, &limit)
        self.limit = limit
        // Enough for everything that is open, and not so many that taking them is work.
        var lower = limit
        lower.rlim_cur = min(limit.rlim_cur, 1024)
        setrlimit(Self.resource, &lower)
        var taken: [Int32] = []
        while case let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC), descriptor >= 0 {
            taken.append(descriptor)
        }
        for _ in 0..<rest { if let last = taken.popLast() { close(last) } }
        self.taken = taken
    }

    /// Gives all of them back; called once.
    func end() {
        for descriptor in taken { close(descriptor) }
        var limit = limit
        setrlimit(Self.resource, &limit)
    }

    #if canImport(Glibc)
        private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
    #else
        private static var resource: Int32 { RLIMIT_NOFILE }
    #endif
}
