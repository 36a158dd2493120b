import Dispatch
import Synchronization
import Testing

@testable import PurlIO

@Suite("Names are looked up on the worker's threads")
struct SystemResolverTests {
    @Test func theSystemKnowsThisMachine() async throws {
        let addresses = try await answer(SystemResolver.shared, "localhost", port: 81).get()
        #expect(addresses.allSatisfy { $0.port == 81 })
        #expect(addresses.contains(.loopback(port: 81)) || addresses.contains(Loopback.address("::1", 81)))
    }

    @Test(arguments: ["localhost", "LocalHost", "localhost.", "a.localhost", "a.b.LOCALHOST."])
    func theNamesOfThisMachineAreItsLoopbackAddressesWithoutALookUp(host: String) async {
        let resolver = SystemResolver { _ in .success([Loopback.address("192.0.2.1", 0)]) }
        #expect(await answer(resolver, host, port: 81) == .success([Loopback.address("::1", 81), .loopback(port: 81)]))
    }

    @Test(arguments: ["localhost.example", "notlocalhost", "local", "a..localhost", ".localhost", "localhost.."])
    func otherNamesAreLookedUp(host: String) async {
        let resolver = SystemResolver { _ in .success([Loopback.address("192.0.2.1", 0)]) }
        #expect(await answer(resolver, host, port: 81) == .success([Loopback.address("192.0.2.1", 81)]))
    }

    @Test(arguments: ["", "localhost\0.example", "\0.localhost"])
    func textThatCannotBeANameHasNoAddress(host: String) async {
        #expect(await answer(SystemResolver.shared, host, port: 1) == .failure(.noSuchName(host: host)))
    }

    @Test func equalNamesShareOneLookUp() async {
        let system = SlowSystem()
        let resolver = SystemResolver { system.lookUp($0) }
        let answers = Answers(expected: 4)
        await withCheckedContinuation { continuation in
            answers.onComplete { continuation.resume() }
            for (host, port) in [("a", 1), ("a", 2), ("b", 3), ("a", 4)] as [(String, UInt16)] {
                resolver.resolve(host, port: port) { answers.add($0) }
            }
            system.release(2)
        }
        #expect(system.asked.sorted() == ["a", "b"])
        #expect(Set(answers.ports) == [1, 2, 3, 4])
    }

    @Test func aFinishedLookUpIsNotShared() async {
        let system = SlowSystem()
        let resolver = SystemResolver { system.lookUp($0) }
        system.release(2)
        _ = await answer(resolver, "a", port: 1)
        _ = await answer(resolver, "a", port: 1)
        #expect(system.asked == ["a", "a"])
    }

    @Test func aFailureReachesTheCaller() async {
        let resolver = SystemResolver { .failure(.noSuchName(host: $0)) }
        #expect(await answer(resolver, "a", port: 1) == .failure(.noSuchName(host: "a")))
    }

    @Test func thousandNamesWaitForALimitedNumberOfThreads() async {
        let system = SlowSystem()
        let resolver = SystemResolver { system.lookUp($0) }
        let answers = Answers(expected: 1000)
        await withCheckedContinuation { continuation in
            answers.onComplete { continuation.resume() }
            for number in 0..<1000 { resolver.resolve("host\(number)", port: 1) { answers.add($0) } }
            system.release(1000)
        }
        #expect(Set(system.asked).count == 1000)
        #expect(system.mostAtOnce <= 512)
    }

    @Test(.timeLimit(.minutes(5)), arguments: [8, 9, 500])
    func namesThatHangHoldUpNoOthers(count: Int) async {
        let system = SlowSystem()
        // A worker of its own: other tests' names would wait for the hanging ones, too.
        let resolver = SystemResolver(worker: Worker()) { host in
            host.hasPrefix("hangs") ? system.lookUp(host) : .success([.loopback(port: 0)])
        }
        let hanging = Answers(expected: 10 * count)
        // Asked for again and again, a name that hangs occupies one thread.
        for number in 0..<(10 * count) { resolver.resolve("hangs\(number % count)", port: 1) { hanging.add($0) } }
        for number in 0..<100 { _ = await answer(resolver, "host\(number)", port: 1) }
        #expect(hanging.ports == [])
        #expect(system.asked.count <= count)
        await withCheckedContinuation { continuation in
            hanging.onComplete { continuation.resume() }
            system.release(count)
        }
    }

    @Test func withoutAnyThreadALookUpFails() async {
        let resolver = SystemResolver(worker: Worker { _, _, _ in false })
        let failure = ResolveError.failed(
            host: "a", code: EAGAIN, reason: SystemError(code: EAGAIN, operation: "pthread_create").description)
        for port in [1, 2] as [UInt16] {
            #expect(await answer(resolver, "a", port: port) == .failure(failure))
        }
    }

    private func answer(
        _ resolver: SystemResolver, _ host: String, port: UInt16
    ) async -> Result<[SocketAddress], ResolveError> {
        await withCheckedContinuation { continuation in
            resolver.resolve(host, port: port) { continuation.resume(returning: $0) }
        }
    }
}

/// A system whose answers wait until the test releases them.
private final class SlowSystem: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    private let state = Mutex(State())

    private struct State {
        var asked: [String] = []
        var atOnce = 0
        var mostAtOnce = 0
    }

    var asked: [String] { state.withLock { $0.asked } }
    var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }

    func lookUp(_ host: String) -> Result<[SocketAddress], ResolveError> {
        state.withLock {
            $0.asked.append(host)
            $0.atOnce += 1
            $0.mostAtOnce = max($0.mostAtOnce, $0.atOnce)
        }
        gate.wait()
        state.withLock { $0.atOnce -= 1 }
        return .success([.loopback(port: 0)])
    }

    func release(_ count: Int) {
        for _ in 0..<count { gate.signal() }
    }
}

/// Collects answers until all expected ones are there.
private final class Answers: Sendable {
    private let state = Mutex<(ports: [UInt16], done: (@Sendable () -> Void)?)>(([], nil))
    private let expected: Int

    init(expected: Int) {
        self.expected = expected
    }

    var ports: [UInt16] { state.withLock { $0.ports } }

    func onComplete(_ done: @escaping @Sendable () -> Void) {
        state.withLock { $0.done = done }
    }

    func add(_ result: Result<[SocketAddress], ResolveError>) {
        let done = state.withLock { state in
            state.ports += (try? result.get())?.compactMap(\.port) ?? []
            return state.ports.count == expected ? state.done : nil
        }
        done?()
    }
}
