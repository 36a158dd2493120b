import Dispatch
import Synchronization

/// What stands in for the machine on the thread of a simulation: threads, clocks, names, sockets, files and randomness.
///
/// All calls come from that thread, on behalf of the simulated process that is running.
package protocol SimulatedMachine: AnyObject, Sendable {
    /// What the process's monotonic clock shows.
    var now: MonotonicTime { get }
    /// What its calendar clock shows, in seconds since 1970.
    var secondsSince1970: Double { get }
    /// The next random number.
    func random() -> UInt64

    /// The loop of the process.
    @NetworkActor var loop: EventLoop { get }
    /// Whether the caller is what the process's network thread would run.
    var isNetworkThread: Bool { get }
    /// Runs work on the process's network thread soon, in order with what was handed over before.
    func post(_ work: NetworkWork)
    /// Runs `body` within this call as the process's network thread would.
    func asNetworkThread<Value>(_ body: @NetworkActor () -> Value) -> Value

    /// Makes a call that may block soon, in the order of its lane, several at a time.
    func run(_ call: @escaping @Sendable () -> Void, on lane: Worker.Lane)
    /// A queue whose calls are made one at a time, in their order.
    func makeCallQueue() -> any SimulatedCallQueue

    /// Looks up a name as a ``Resolver`` does.
    func resolve(
        _ host: String, port: UInt16, then: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void)
    /// Connects to an address. `completion` is called once, never within this call, and never after the attempt was
    /// cancelled.
    @NetworkActor func connect(
        to address: SocketAddress,
        completion: @escaping @NetworkActor (Result<any LoopTransport, ConnectFailure>) -> Void
    ) throws(SystemError) -> any ConnectionAttempt

    /// What the process sees of the disk; `nil` for the files of the machine that the simulation runs on.
    var files: (any FileLayer)? { get }
    /// Where the user's files are.
    var home: String { get }
    /// The name of the program that the process runs.
    var programName: String { get }
    /// The process's value for a key, which `make` makes the first time.
    func value(for key: ObjectIdentifier, make: () -> any Sendable) -> any Sendable

    /// The program does what a simulation cannot: the simulation fails with this reason.
    func refuse(_ reason: String)
}

/// A serial queue of a simulated process.
package protocol SimulatedCallQueue: Sendable {
    /// Adds a call after all earlier ones.
    func add(_ call: @escaping @Sendable () -> Void)
}

/// One attempt to connect to one address.
@NetworkActor package protocol ConnectionAttempt: AnyObject {
    /// Ends it, and drops the completion.
    func cancel()
}

/// Which threads belong to simulations.
package enum Simulated {
    /// How many simulations run in this process: without one, to ask costs a load and a comparison.
    private static let running = Atomic<Int>(0)
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    private final class Holder {
        let machine: any SimulatedMachine

        init(_ machine: any SimulatedMachine) { self.machine = machine }
    }

    /// What stands in for the machine on this thread; `nil` outside a simulation.
    package static var machine: (any SimulatedMachine)? {
        running.load(ordering: .relaxed) == 0 ? nil : machineOfThread
    }

    @inline(never) private static var machineOfThread: (any SimulatedMachine)? {
        pthread_getspecific(key).map { Unmanaged<Holder>.fromOpaque($0).takeUnretainedValue().machine }
    }

    /// Runs `body` on a thread of its own, on which `machine` stands in for this one, and blocks the caller until it returns.
    ///
    /// - Parameter isGivenUp: Asked once a second of the real clock. When it is true the thread, which something blocks, is
    ///   left to itself.
    /// - Returns: Whether `body` has returned.
    package static func run(
        on machine: any SimulatedMachine, isGivenUp: () -> Bool, _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        running.add(1, ordering: .sequentiallyConsistent)
        let isOver = DispatchSemaphore(value: 0)
        while !NativeThread.start(
            "purl-simulation", stackSize: 64 << 20,
            {
                let holder = Holder(machine)
                pthread_setspecific(key, Unmanaged.passUnretained(holder).toOpaque())
                withExtendedLifetime(holder, body)
                pthread_setspecific(key, nil)
                isOver.signal()
            })
        {
            Platform.sleep(milliseconds: 10)
        }
        while isOver.wait(timeout: .now() + 1) == .timedOut {
            // The thread may wake up one day, and has to find its machine then.
            if isGivenUp() { return false }
        }
        running.subtract(1, ordering: .sequentiallyConsistent)
        return true
    }
}

/// An object that a process has once: each process of a simulation has its own.
package final class ProcessLocal<Object: AnyObject & Sendable>: Sendable {
    private let make: @Sendable () -> Object
    // Not of the generic type: each request asks for such objects, and the type of a generic `Mutex` is looked up each time.
    private let own = Mutex<(any AnyObject & Sendable)?>(nil)

    /// - Parameter make: Makes the object when it is first asked for.
    package init(_ make: @escaping @Sendable () -> Object) {
        self.make = make
    }

    /// The object of this process.
    package var current: Object {
        if let machine = Simulated.machine,
            let object = machine.value(for: ObjectIdentifier(self), make: make) as? Object
        {
            return object
        }
        let object = own.withLock { own in
            if let own { return own }
            let object: any AnyObject & Sendable = make()
            own = object
            return object
        }
        // Only what `make` has made is ever stored.
        return unsafeDowncast(object, to: Object.self)
    }
}

/// The system's random numbers, or those of a simulation.
package struct Randomness: RandomNumberGenerator {
    package init() {}

    package func next() -> UInt64 {
        if let machine = Simulated.machine { return machine.random() }
        var system = SystemRandomNumberGenerator()
        return system.next()
    }
}
