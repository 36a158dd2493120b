import Foundation
internal import PurlIO
import Synchronization

/// Calls a captured stream's delegate, on the run loop that the stream is scheduled in.
///
/// The network thread watches the connection while a delegate waits, and makes a timer in the run loop due: that is what
/// wakes it. There is one timer for each place, since Foundation never gives one back. After an event of bytes or room
/// there is none until the stream has been read or written. Neither the network thread nor a run loop keeps a stream alive.
final class StreamEvents: Sendable {
    /// Where a stream is scheduled. `@unchecked Sendable`: a run loop's timers can be changed from any thread.
    private struct Place: @unchecked Sendable {
        let loop: RunLoop
        let mode: RunLoop.Mode
        /// Due when there are calls to be made. Without anything to wait for a run loop would not run.
        let timer: Timer
    }

    private struct State {
        var places: [Place] = []
        /// The calls to be made, in order.
        var calls: [@Sendable () -> Void] = []
        var watch: Watch?
        var isArmed = false
        /// Gone once no calls are made any more.
        var connection: BlockingSocket?
    }

    private let direction: CapturedSide.Direction
    private let state: Mutex<State>

    init(_ connection: BlockingSocket?, _ direction: CapturedSide.Direction) {
        self.direction = direction
        state = Mutex(State(connection: connection))
    }

    deinit { stop() }

    func schedule(in loop: RunLoop, mode: RunLoop.Mode) {
        // One that does not repeat would be due once only.
        let timer = Timer(fire: .distantFuture, interval: Self.ages, repeats: true) { [weak self] _ in
            self?.makeCalls()
        }
        let place = Place(loop: loop, mode: mode, timer: timer)
        let isTaken = state.withLock { state in
            guard state.connection != nil else { return false }
            state.places.append(place)
            return true
        }
        if isTaken { loop.add(timer, forMode: mode) }
    }

    /// Seconds that never pass.
    private static let ages: TimeInterval = 1_000_000_000

    func remove(from loop: RunLoop, mode: RunLoop.Mode) {
        let removed = state.withLock { state in
            let removed = state.places.filter { $0.loop === loop && $0.mode == mode }
            state.places.removeAll { $0.loop === loop && $0.mode == mode }
            if state.places.isEmpty {
                state.isArmed = false
                state.calls = []
            }
            return removed
        }
        for place in removed { place.timer.invalidate() }
    }

    /// No calls are made any more.
    func stop() {
        let places = state.withLock { state in
            defer {
                state.places = []
                state.calls = []
                state.watch = nil
                state.connection = nil
            }
            return state.places
        }
        for place in places { place.timer.invalidate() }
    }

    /// Watches until the stream can be read, or written, and has the delegate called then. Does nothing while the stream
    /// is scheduled nowhere.
    func arm(for side: CapturedSide) {
        let connection: BlockingSocket? = state.withLock { state in
            guard !state.places.isEmpty, !state.isArmed else { return nil }
            state.isArmed = true
            return state.connection
        }
        guard let connection else { return }
        if side.hasBytes { return tellReadiness(of: side) }
        NetworkActor.post { [weak self, weak side, direction] in
            guard let self, let side else { return }
            let watch = self.state.withLock { $0.watch } ?? (try? Watch(connection, direction))
            let isWanted = self.state.withLock { state in
                if state.connection != nil { state.watch = watch }
                return state.connection != nil
            }
            guard isWanted else { return }
            // Without a descriptor to watch there is nothing to wait for but the stream itself.
            guard let watch else { return self.tellReadiness(of: side) }
            watch.start { [weak self, weak side] in if let self, let side { self.tellReadiness(of: side) } }
        }
    }

    private func tellReadiness(of side: CapturedSide) {
        run(for: side) { [weak self] side in
            guard let self else { return }
            self.state.withLock { $0.isArmed = false }
            // The user may have read or written without waiting for the call.
            guard side.isReady else { return self.arm(for: side) }
            switch self.direction {
            case .output: side.listener.report(.hasSpaceAvailable)
            case .input:
                let connection = self.state.withLock { $0.connection }
                let isAtEnd = !side.hasBytes && connection?.isAtEnd == true
                side.listener.report(isAtEnd ? .endEncountered : .hasBytesAvailable)
            }
        }
    }

    /// Has the delegate called with an event.
    func report(_ side: CapturedSide, _ event: Stream.Event) {
        run(for: side) { $0.listener.report(event) }
    }

    /// Runs the call once, on whatever run loop that the stream is scheduled in comes first.
    private func run(for side: CapturedSide, _ call: @escaping @Sendable (CapturedSide) -> Void) {
        let places = state.withLock { state in
            guard !state.places.isEmpty else { return [Place]() }
            state.calls.append { [weak side] in if let side { call(side) } }
            return state.places
        }
        for place in places { place.timer.fireDate = Date() }
    }

    /// Makes the calls that wait, on a run loop's thread. One of them may be the last, if it closes the stream.
    private func makeCalls() {
        while let call = state.withLock({ $0.calls.isEmpty ? nil : $0.calls.removeFirst() }) { call() }
    }

    /// The network thread's side.
    @NetworkActor
    private final class Watch: TransportHandler {
        private let socket: StreamSocket
        private let interest: TransportInterest
        private var onReady: (() -> Void)?

        init(_ connection: BlockingSocket, _ direction: CapturedSide.Direction) throws(SystemError) {
            socket = try connection.watcher()
            interest = direction == .input ? .read : .write
            socket.handler = self
        }

        func start(_ onReady: @escaping () -> Void) {
            self.onReady = onReady
            socket.interest = interest
        }

        func transportIsReadable(_ transport: any LoopTransport) { fire() }
        func transportIsWritable(_ transport: any LoopTransport) { fire() }

        private func fire() {
            socket.interest = []
            let call = onReady
            onReady = nil
            call?()
        }
    }
}
