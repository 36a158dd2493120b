import Foundation
import Testing

@testable import PurlIO

@Suite("Dialling tries every address and keeps one connection")
@NetworkActor struct DialTests {
    /// Nothing in these stories waits as long: what needs it would hang.
    private static let never = Duration.seconds(3_600)

    @Test func digitsAreNotLookedUp() async throws {
        let server = try Server()
        let resolver = ScriptedResolver(.failure(.noSuchName(host: "127.0.0.1")))
        let socket = try await dial(.host("127.0.0.1", port: server.port), resolver).get()
        #expect(socket.peerAddress == server.address)
        #expect(resolver.asked == [])
    }

    @Test func bracketsAroundDigitsAreNotLookedUpEither() async throws {
        let server = try Server("::1")
        let resolver = ScriptedResolver(.failure(.noSuchName(host: "::1")))
        let socket = try await dial(.host("[::1]", port: server.port), resolver).get()
        #expect(socket.peerAddress == server.address)
        #expect(resolver.asked == [])
    }

    @Test func aNameIsLookedUpOnce() async throws {
        let server = try Server()
        let resolver = ScriptedResolver(.success([server.address]))
        let socket = try await dial(.host("example.test", port: server.port), resolver).get()
        #expect(socket.peerAddress == server.address)
        #expect(resolver.asked == ["example.test"])
    }

    @Test func aPathIsDialledAsItIs() async throws {
        let path = "/tmp/purl-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
        let listener = try ListeningSocket(SocketAddress(unixPath: path)) { _ in }
        defer { listener.close() }
        let socket = try await dial(.unix(path: path)).get()
        #expect(socket.peerAddress == listener.address)
    }

    @Test func aDialInProcessYieldsTheGivenSocketLater() async throws {
        let (one, _) = try StreamSocket.pair()
        var isWithin = true
        let given = await withCheckedContinuation { continuation in
            _ = NetworkDial(connect: { .success(one) }) { result in
                #expect(!isWithin)
                continuation.resume(returning: result)
            }
            isWithin = false
        }
        #expect(try given.get() === one)
    }

    @Test func aPathTooLongForTheSystemFails() async {
        let path = "/" + String(repeating: "p", count: 200)
        let error = SystemError(code: ENAMETOOLONG, operation: "unix path")
        let expected = DialError.resolve(.failed(host: path, code: error.code, reason: error.description))
        #expect(await failure(of: dial(.unix(path: path))) == expected)
    }

    @Test func aPathWithoutListenerFails() async throws {
        let path = "/tmp/purl-nobody-\(UInt32.random(in: 0 ... .max)).sock"
        let failure = ConnectFailure(
            address: try SocketAddress(unixPath: path), error: SystemError(code: ENOENT, operation: "connect"))
        #expect(await self.failure(of: dial(.unix(path: path))) == .connect([failure]))
    }

    @Test(arguments: [
        ResolveError.noSuchName(host: "example.test"),
        .failed(host: "example.test", code: EAI_AGAIN, reason: "Temporary failure in name resolution"),
    ])
    func aNameWithoutAddressFails(error: ResolveError) async {
        let resolver = ScriptedResolver(.failure(error))
        #expect(await failure(of: dial(.host("example.test", port: 80), resolver)) == .resolve(error))
    }

    @Test func anEmptyListOfAddressesIsNoSuchName() async {
        let resolver = ScriptedResolver(.success([]))
        let error = await failure(of: dial(.host("example.test", port: 80), resolver))
        #expect(error == .resolve(.noSuchName(host: "example.test")))
    }

    @Test func aLookUpWithoutAnswerIsGivenUp() async {
        let resolver = SilentResolver()
        let result = await withCheckedContinuation { continuation in
            _ = NetworkDial(to: .host("example.test", port: 80), resolver: resolver, lookupLimit: .zero) {
                continuation.resume(returning: $0)
            }
        }
        let reason = "there was no answer within 0 seconds"
        #expect(
            failure(of: result) == .resolve(.failed(host: "example.test", code: EAI_AGAIN, reason: reason)))
        #expect(resolver.isCancelled)
        // An answer that comes later is nobody's.
        resolver.answer(.success([.loopback(port: 80)]))
        await NetworkTurn.pass()
    }

    @Test func ofManyAddressesSixteenAreTriedOfBothFamilies() async throws {
        let dead = try DeadPort()
        let port = try #require(dead.address.port)
        let four = (0..<10_000).map { Loopback.address("127.1.\($0 / 250).\($0 % 250 + 1)", port) }
        let six = (0..<10_000).map { Loopback.address("fe80::\(String($0 + 1, radix: 16))", port) }
        let error = await failure(of: dial(.host("example.test", port: 80), ScriptedResolver(.success(four + six))))
        var tried: [SocketAddress] = []
        if case .connect(let failures) = error { tried = failures.map(\.address) }
        let alternating: [SocketAddress] = (0..<8).flatMap { [four[$0], six[$0]] }
        #expect(tried == alternating)
    }

    @Test func aRefusedAddressGivesWayAtOnce() async throws {
        let dead = try DeadPort()
        let server = try Server()
        let resolver = ScriptedResolver(.success([dead.address, server.address]))
        let socket = try await dial(.host("example.test", port: 80), resolver, delay: Self.never).get()
        #expect(socket.peerAddress == server.address)
    }

    @Test func anImpossibleAddressGivesWayAtOnce() async throws {
        let server = try Server()
        let resolver = ScriptedResolver(.success([Impossible.address, server.address]))
        let socket = try await dial(.host("example.test", port: 80), resolver, delay: Self.never).get()
        #expect(socket.peerAddress == server.address)
    }

    @Test func aSilentAddressGivesWayAfterTheDelay() async throws {
        let hole = try BlackHole()
        let server = try Server()
        let resolver = ScriptedResolver(.success([hole.address, server.address]))
        let socket = try await dial(.host("example.test", port: 80), resolver, delay: .milliseconds(20)).get()
        #expect(socket.peerAddress == server.address)
    }

    @Test func aSilentAddressDoesNotGiveWayBefore() async throws {
        let hole = try BlackHole()
        let server = try Server()
        let resolver = ScriptedResolver(.success([hole.address, server.address]))
        let loop = PollerKind.native.makeLoop()
        let dial = NetworkDial(
            to: .host("example.test", port: 80), resolver: resolver, attemptDelay: Self.never, loop: loop
        ) { _ in Issue.record("completed") }
        loop.turn(waiting: true)
        await NetworkTurn.pass()
        for _ in 0..<10 { loop.turn(waiting: false) }
        #expect(server.accepted.isEmpty)
        dial.cancel()
    }

    @Test func theFamilyOfTheFirstAddressGoesFirst() async throws {
        let four = try Server()
        let six = try Server("::1")
        let sixFirst = ScriptedResolver(.success([six.address, four.address]))
        let fourFirst = ScriptedResolver(.success([four.address, six.address]))
        for (resolver, server) in [(sixFirst, six), (fourFirst, four)] {
            let socket = try await dial(.host("example.test", port: 80), resolver, delay: Self.never).get()
            #expect(socket.peerAddress == server.address)
        }
    }

    @Test func allFailuresAreReportedInTheOrderTried() async throws {
        let first = try DeadPort()
        let second = try DeadPort("::1")
        let third = try DeadPort("127.0.0.2")
        let resolver = ScriptedResolver(.success([first.address, third.address, second.address, Impossible.address]))
        let refused = SystemError(code: ECONNREFUSED, operation: "connect")
        for delay in [Duration.zero, Self.never] {
            let error = await failure(of: dial(.host("example.test", port: 80), resolver, delay: delay))
            #expect(
                error
                    == .connect([
                        ConnectFailure(address: first.address, error: refused),
                        ConnectFailure(address: second.address, error: refused),
                        ConnectFailure(address: third.address, error: refused),
                        ConnectFailure(address: Impossible.address, error: Impossible.error),
                    ]))
        }
    }

    @Test func theCompletionIsNeverCalledWithinInit() async {
        var isWithinInit = true
        await withCheckedContinuation { continuation in
            _ = NetworkDial(to: .unix(path: "")) { _ in
                #expect(!isWithinInit)
                continuation.resume()
            }
            isWithinInit = false
        }
    }

    @Test func aCancelledDialStaysSilent() async throws {
        let server = try Server()
        let atOnce = NetworkDial(to: .host("127.0.0.1", port: server.port)) { _ in Issue.record("completed") }
        atOnce.cancel()
        let hole = try BlackHole()
        let resolver = ScriptedResolver(.success([hole.address, server.address]))
        let underWay = NetworkDial(to: .host("example.test", port: 80), resolver: resolver, attemptDelay: Self.never) {
            _ in
            Issue.record("completed")
        }
        for _ in 0..<5 { await NetworkTurn.pass() }
        underWay.cancel()
        underWay.cancel()
        for _ in 0..<5 { await NetworkTurn.pass() }
        #expect(server.accepted.isEmpty)
    }

    @Test func noSocketStaysOpenWhateverTheOutcome() async {
        await #expect(processExitsWith: .success) {
            do {
                try await Leaks.look()
            } catch {
                Issue.record(error)
            }
        }
    }

    /// 6: TCP. 262: Multipath TCP.
    nonisolated private static let multipathProtocol: Int32 = {
        let setting = try? String(contentsOfFile: "/proc/sys/net/mptcp/enabled", encoding: .utf8)
        return setting?.hasPrefix("1") == true ? 262 : 6
    }()

    @Test(arguments: [(false, 6), (true, multipathProtocol)])
    func aDialUsesMultipathTCPWhereTheKernelHasItAndPlainTCPElsewhere(isMultipath: Bool, number: Int32) async throws {
        let listener = try PlainSocket(.ipv4, isMultipath: true)
        try listener.take(Loopback.any(.ipv4))
        listener.listenWithoutQueue()
        let port = try #require(listener.localAddress?.port)
        let socket = try #require(try await dial(port, isMultipath: isMultipath).plainSocket)
        // SO_PROTOCOL
        #expect(socket.channel.descriptor.option(38, level: SOL_SOCKET) == number)
        #expect(socket.isMultipath == (number == 262))
        socket.close()
    }

    @Test func aServerWithoutMultipathTCPIsReachedWithPlainTCP() async throws {
        let server = try Server()
        let socket = try #require(try await dial(server.port, isMultipath: true).plainSocket)
        #expect(!socket.isMultipath)
        socket.close()
    }

    @Test func aUnixSocketHasOnePath() throws {
        #expect(try Platform.streamSocket(.unix, isMultipath: true).option(38, level: SOL_SOCKET) == 0)
    }

    private func dial(_ port: UInt16, isMultipath: Bool) async throws -> any LoopTransport {
        try await withCheckedContinuation { continuation in
            _ = NetworkDial(to: .host("127.0.0.1", port: port), sockets: SocketOptions(isMultipath: isMultipath)) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    private func dial(
        _ endpoint: Endpoint, _ resolver: any Resolver = ScriptedResolver(.success([])), delay: Duration = never
    ) async -> Result<any LoopTransport, DialError> {
        await withCheckedContinuation { continuation in
            _ = NetworkDial(to: endpoint, resolver: resolver, attemptDelay: delay) {
                continuation.resume(returning: $0)
            }
        }
    }

    private func failure(of result: Result<any LoopTransport, DialError>) -> DialError? {
        switch result {
        case .success: nil
        case .failure(let error): error
        }
    }
}

@Suite("RFC 8305 §4: the address families alternate")
struct AddressOrderTests {
    @Test(arguments: [
        ([], []),
        (["::1"], ["::1"]),
        (["::1", "::2", "1.1.1.1", "2.2.2.2"], ["::1", "1.1.1.1", "::2", "2.2.2.2"]),
        (["1.1.1.1", "2.2.2.2", "::1", "::2"], ["1.1.1.1", "::1", "2.2.2.2", "::2"]),
        (["::1", "1.1.1.1", "2.2.2.2", "3.3.3.3"], ["::1", "1.1.1.1", "2.2.2.2", "3.3.3.3"]),
        (["::1", "::2", "::3", "1.1.1.1"], ["::1", "1.1.1.1", "::2", "::3"]),
        (["1.1.1.1", "1.1.1.1", "::1", "1.1.1.1"], ["1.1.1.1", "::1"]),
        ((1...40).map { "1.1.1.\($0)" }, (1...16).map { "1.1.1.\($0)" }),
        ((1...40).map { "1.1.1.\($0)" } + ["::1"], ["1.1.1.1", "::1"] + (2...15).map { "1.1.1.\($0)" }),
    ])
    func theFamiliesAlternate(answer: [String], tried: [String]) {
        let addresses = answer.map { Loopback.address($0, 80) }
        #expect(AddressOrder.interleaved(addresses).map(\.host) == tried)
    }
}

/// An address that `connect` rejects without sending anything: a link-local one without the link.
private enum Impossible {
    static let address = Loopback.address("fe80::1", 9)
    static let error = SystemError(code: EINVAL, operation: "connect")
}

/// Accepts and keeps every connection.
@NetworkActor private final class Server {
    private(set) var accepted: [StreamSocket] = []
    private var listener: ListeningSocket?
    let address: SocketAddress
    var port: UInt16 { address.port ?? 0 }

    init(_ host: String = "127.0.0.1") throws {
        var accept: (@NetworkActor (StreamSocket) -> Void)?
        let listener = try ListeningSocket(Loopback.address(host, 0)) { accept?($0) }
        address = listener.address
        self.listener = listener
        accept = { [weak self] in self?.accepted.append($0) }
    }
}

/// Lets the network thread take a turn.
private enum NetworkTurn {
    @NetworkActor static func pass() async {
        await withCheckedContinuation { continuation in
            EventLoop.shared.schedule(after: .zero) { continuation.resume() }
        }
    }
}

/// Counts sockets, and therefore runs in a process of its own.
@NetworkActor private enum Leaks {
    static func look() async throws {
        let hole = try BlackHole()
        let dead = try DeadPort()
        var accepted = 0
        let listener = try ListeningSocket(.loopback(port: 0)) { socket in
            accepted += 1
            socket.close()
        }
        for _ in 0..<3 { await NetworkTurn.pass() }
        let before = OpenSockets.count

        let good = listener.address
        let answers = [
            [good], [dead.address], [dead.address, good], [hole.address, good],
            [hole.address, hole.address.withPort(1), good],
            [good, hole.address, dead.address], [dead.address, Impossible.address],
        ]
        var successes = 0
        for answer in answers {
            for _ in 0..<10 {
                let result = await outcome(ScriptedResolver(.success(answer)))
                if case .success(let socket) = result {
                    successes += 1
                    socket.close()
                }
            }
        }
        #expect(successes == 50)
        for passes in 0..<10 {
            let dial = NetworkDial(
                to: .host("example.test", port: 80), resolver: ScriptedResolver(.success([hole.address, good])),
                attemptDelay: .seconds(3_600)
            ) { _ in Issue.record("completed") }
            for _ in 0..<passes { await NetworkTurn.pass() }
            dial.cancel()
        }
        while accepted < successes { await NetworkTurn.pass() }
        #expect(OpenSockets.count == before)
        listener.close()
    }

    private static func outcome(_ resolver: ScriptedResolver) async -> Result<any LoopTransport, DialError> {
        await withCheckedContinuation { continuation in
            _ = NetworkDial(to: .host("example.test", port: 80), resolver: resolver, attemptDelay: .zero) { result in
                continuation.resume(returning: result)
            }
        }
    }
}
