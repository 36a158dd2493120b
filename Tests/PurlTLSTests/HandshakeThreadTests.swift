import Foundation
import MemoryTLS
import Purl
import PurlTLS
import PurlTesting
import Synchronization
import Testing

@Suite("Handshakes are computed beside the network thread", .timeLimit(.minutes(2)))
struct HandshakeThreadTests {
    private let server: LoopbackServer
    private let plain: URL
    private let secure: URL

    init() throws {
        server = try LoopbackServer()
        plain = server.route("/", .text("hello"))
        var parts = try #require(URLComponents(url: plain, resolvingAgainstBaseURL: false))
        parts.scheme = "https"
        secure = try #require(parts.url)
    }

    private func session(_ provider: any TLSProvider) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.tlsProvider = provider
        return URLSession(configuration: configuration)
    }

    /// The code of the failure of a load.
    private func failure(_ load: Task<(Data, URLResponse), any Error>) async -> URLError.Code? {
        await #expect(throws: URLError.self) { try await load.value }?.code
    }

    @Test("Other transfers continue while a handshake is computed")
    func others() async throws {
        let (began, end) = (Monitor(0), Gate())
        let provider = ScriptedProvider { _ in
            began.update { $0 += 1 }
            end.wait()
            throw TLSError(.refused, reason: "the test has ended it")
        }
        let session = session(provider)
        defer { session.invalidateAndCancel() }
        let load = Task { try await session.data(from: secure) }
        await began.wait { $0 == 1 }
        let (data, _) = try await session.data(from: plain)
        #expect(data == Data("hello".utf8))
        end.open()
        #expect(await failure(load) == .secureConnectionFailed)
        await provider.released.wait { $0 == 1 }
    }

    @Test("One that is cancelled meanwhile ends at once, and its side is released when the call has returned")
    func cancelled() async throws {
        let (began, end) = (Monitor(0), Gate())
        let provider = ScriptedProvider { _ in
            began.update { $0 += 1 }
            end.wait()
            return .waiting
        }
        let session = session(provider)
        defer { session.invalidateAndCancel() }
        let load = Task { try await session.data(from: secure) }
        await began.wait { $0 == 1 }
        await server.wait { $0.openConnections == 1 }
        load.cancel()
        #expect(await failure(load) == .cancelled)
        await server.waitUntilDisconnected()
        #expect(provider.released.value == 0)
        end.open()
        await provider.released.wait { $0 == 1 }
        #expect(began.value == 1)
    }

    @Test("The end of the connection is noticed after the call, which gets what came before it")
    func lost() async throws {
        let calls = Monitor(0)
        let provider = ScriptedProvider { side in
            if calls.update({
                $0 += 1
                return $0
            }) == 1 {
                side.outgoing = Array("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8)
            }
            return .waiting
        }
        let session = session(provider)
        defer { session.invalidateAndCancel() }
        let load = Task { try await session.data(from: secure) }
        #expect(await failure(load) == .networkConnectionLost)
        #expect(calls.value >= 2)
        await provider.released.wait { $0 == 1 }
        #expect(provider.received.value.hasSuffix("hello"))
    }

    @Test("A side that is not made fails the load", arguments: [TLSError.Kind.unusableSettings, .unavailable])
    func unmade(kind: TLSError.Kind) async throws {
        let session = session(ScriptedProvider(refusal: TLSError(kind, reason: "no side")) { _ in .waiting })
        defer { session.invalidateAndCancel() }
        #expect(await failure(Task { try await session.data(from: secure) }) == .secureConnectionFailed)
        #expect(server.requests.isEmpty)
    }

    @Test("Calls for a connection come one at a time, handshakes on their threads and all others on the network thread")
    func threads() async throws {
        guard hasOpenSSL else { return }
        let authority = TestAuthority()
        let server = try LoopbackServer(tls: authority)
        let url = server.route("/", .generated(GeneratedContent(size: 100_000)))
        let provider = WatchedProvider(try .trusting(authority))
        let configuration = URLSessionConfiguration.ephemeral
        configuration.tlsProvider = provider
        configuration.httpMaximumConnectionsPerHost = 32
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<64 { group.addTask { try await session.data(from: url).0.count } }
            for try await count in group { #expect(count == 100_000) }
        }
        #expect(provider.threads.withLock { $0["handshake"] } == ["purl-handshakes"])
        #expect(provider.threads.withLock { $0["other"] } == ["purl-io"])
        #expect(provider.overlaps.load(ordering: .relaxed) == 0)
    }
}

/// Lets threads pass once it is open.
private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func open() { semaphore.signal() }
    func wait() { semaphore.wait() }
}

/// Makes sides whose handshakes do what a test wants.
private final class ScriptedProvider: TLSProvider {
    typealias Handshake = @Sendable (ScriptedSide) throws -> TLSHandshakeStep

    /// How many sides were released.
    let released = Monitor(0)
    /// What the sides that were released had received.
    let received = Monitor("")
    private let refusal: TLSError?
    private let handshake: Handshake

    init(refusal: TLSError? = nil, _ handshake: @escaping Handshake) {
        (self.refusal, self.handshake) = (refusal, handshake)
    }

    func makeConnection(_ request: TLSConnectionRequest) throws -> any TLSConnection {
        if let refusal { throw refusal }
        return ScriptedSide(handshake) { received in
            self.received.update { $0 += String(decoding: received, as: UTF8.self) }
            self.released.update { $0 += 1 }
        }
    }
}

private final class ScriptedSide: TLSConnection {
    var outgoing: [UInt8] = []
    private var received: [UInt8] = []
    private let script: ScriptedProvider.Handshake
    private let onRelease: ([UInt8]) -> Void

    init(_ script: @escaping ScriptedProvider.Handshake, onRelease: @escaping ([UInt8]) -> Void) {
        (self.script, self.onRelease) = (script, onRelease)
    }

    deinit {
        onRelease(received)
    }

    func handshake() throws -> TLSHandshakeStep { try script(self) }

    func receiveCiphertext(_ bytes: UnsafeRawBufferPointer) { received += bytes }

    func sendCiphertext(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, outgoing.count)
        buffer.copyBytes(from: outgoing[..<count])
        outgoing.removeFirst(count)
        return count
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> TLSRead { .waiting }
    func write(_ content: UnsafeRawBufferPointer) throws -> Int { content.count }
    func finishWriting() {}
}

/// Another provider, whose calls are watched.
private final class WatchedProvider: TLSProvider {
    let threads = Mutex<[String: Set<String>]>([:])
    let overlaps = Atomic(0)
    private let provider: SystemTLS

    init(_ provider: SystemTLS) {
        self.provider = provider
    }

    func makeConnection(_ request: TLSConnectionRequest) throws -> any TLSConnection {
        noteThread("handshake")
        return WatchedSide(try provider.makeConnection(request), self)
    }

    func noteThread(_ kind: String) {
        let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
        let text = name?.trimmingCharacters(in: .newlines) ?? ""
        threads.withLock { _ = $0[kind, default: []].insert(text) }
    }
}

private final class WatchedSide: TLSConnection {
    private let side: any TLSConnection
    private let provider: WatchedProvider
    private let isBusy = Atomic(false)

    init(_ side: any TLSConnection, _ provider: WatchedProvider) {
        (self.side, self.provider) = (side, provider)
    }

    private func watched<Value>(_ kind: String = "other", _ call: () throws -> Value) rethrows -> Value {
        if isBusy.exchange(true, ordering: .relaxed) { provider.overlaps.wrappingAdd(1, ordering: .relaxed) }
        defer { isBusy.store(false, ordering: .relaxed) }
        provider.noteThread(kind)
        return try call()
    }

    func handshake() throws -> TLSHandshakeStep { try watched("handshake") { try side.handshake() } }
    func receiveCiphertext(_ bytes: UnsafeRawBufferPointer) { watched { side.receiveCiphertext(bytes) } }
    func sendCiphertext(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        watched { side.sendCiphertext(into: buffer) }
    }
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> TLSRead {
        try watched { try side.read(into: buffer) }
    }
    func write(_ content: UnsafeRawBufferPointer) throws -> Int { try watched { try side.write(content) } }
    func finishWriting() { watched { side.finishWriting() } }
}
