/// A point at which the server waits until the test opens it.
///
/// ```swift
/// let gate = ServerGate()
/// server.route("/slow", .generated(size: 1 << 20).stalled(afterBytes: 1000, until: gate))
/// // start the transfer …
/// await gate.reached()     // the server has sent 1000 bytes and waits
/// gate.open()              // it sends the rest
/// ```
///
/// A gate opens once and stays open. It can be used from any thread, and by several replies at the same time.
public final class ServerGate: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var arrivals = 0
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Monitor(State())

    /// Creates a closed gate.
    public init() {}

    /// Whether ``open()`` has been called.
    public var isOpen: Bool { state.read(\.isOpen) }

    /// How many responses have reached this gate so far, those that found it open included.
    public var arrivals: Int { state.read(\.arrivals) }

    /// Resumes everything that waits at this gate. From now on nothing waits here. Further calls do nothing.
    public func open() {
        let waiting = state.update { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for resume in waiting { resume() }
    }

    /// Returns when `count` responses in all have reached this gate, at once if they already have.
    ///
    /// Returns early when the calling task is cancelled.
    ///
    /// - Parameter count: How many responses to wait for, those that reached the gate before included.
    public func reached(times count: Int = 1) async {
        await state.wait { $0.arrivals >= count }
    }

    /// Counts an arrival.
    ///
    /// - Parameter resume: Called on any thread when the gate opens, unless it is open already.
    /// - Returns: Whether the gate is open.
    func arrive(resume: @escaping @Sendable () -> Void) -> Bool {
        state.update { state in
            state.arrivals += 1
            if !state.isOpen { state.waiting.append(resume) }
            return state.isOpen
        }
    }
}

extension ServerGate: Equatable {
    /// Whether both are the same gate.
    ///
    /// - Parameter right: Another gate, or the same.
    public static func == (left: ServerGate, right: ServerGate) -> Bool { left === right }
}
