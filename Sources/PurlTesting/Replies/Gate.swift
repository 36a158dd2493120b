/// A point at which the server waits until the test lets it go on.
///
/// ```swift
/// let gate = Gate()
/// server.route("/slow", .generated(size: 1 << 20).stalled(afterBytes: 1000, until: gate))
/// // start the transfer …
/// await gate.reached()     // the server has sent 1000 bytes and waits
/// gate.open()              // it sends the rest
/// ```
///
/// A gate opens once and stays open. It can be used from any thread, and by several replies at the same time.
public final class Gate: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var arrivals = 0
        var departures: [@Sendable () -> Void] = []
    }

    private let state = Watched(State())

    /// A closed gate.
    public init() {}

    /// Whether ``open()`` has been called.
    public var isOpen: Bool { state.read(\.isOpen) }

    /// How many answers have come to this gate so far, those that found it open included.
    public var arrivals: Int { state.read(\.arrivals) }

    /// Lets everything that waits at this gate go on, and everything that comes later pass. Further calls do nothing.
    public func open() {
        let departures = state.update { state in
            state.isOpen = true
            defer { state.departures = [] }
            return state.departures
        }
        for depart in departures { depart() }
    }

    /// Returns when `count` answers in all have come to this gate, at once if they already have.
    ///
    /// Returns early when the calling task is cancelled.
    public func reached(times count: Int = 1) async {
        await state.wait { $0.arrivals >= count }
    }

    /// Notes an arrival. True: the gate is open, go on. False: `depart` will be called when it opens, on any thread.
    func arrive(depart: @escaping @Sendable () -> Void) -> Bool {
        state.update { state in
            state.arrivals += 1
            if !state.isOpen { state.departures.append(depart) }
            return state.isOpen
        }
    }
}

extension Gate: Equatable {
    /// Whether both are the same gate.
    public static func == (left: Gate, right: Gate) -> Bool { left === right }
}
