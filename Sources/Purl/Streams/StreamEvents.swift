import Foundation
internal import PurlIO
import Synchronization

/// Tells a captured stream's delegate of what happens, on the run loop that the stream is scheduled in.
///
/// The network thread watches the connection while somebody wants to know, and puts a timer that is due at once into the
/// run loop: that is what wakes it. After an event of bytes or room there is none until the stream has been read or
/// written. Neither the network thread nor a run loop keeps a stream: one that nobody else keeps is told of nothing.
final class StreamEvents: Sendable {
    /// Where a stream is scheduled. `@unchecked Sendable`: a run loop takes timers from any thread.
    private struct Place: @unchecked Sendable {
        let loop: RunLoop
        let mode: RunLoop.Mode
        /// Never due: a run loop without anything to wait for does not run.
        let anchor: Timer
    }

    private struct State {
        var places: [Place] = []
        var watch: Watch?
        var isArmed = false
        /// Gone once nobody is told of anything any more.
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
        let anchor = Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }
        let place = Place(loop: loop, mode: mode, anchor: anchor)
        let isTaken = state.withLock { state in
            guard state.connection != nil else { return false }
            state.places.append(place)
            return true
        }
        if isTaken { loop.add(anchor, forMode: mode) }
    }

    func remove(from loop: RunLoop, mode: RunLoop.Mode) {
        let removed = state.withLock { state in
            let removed = state.places.filter { $0.loop === loop && $0.mode == mode }
            state.places.removeAll { $0.loop === loop && $0.mode == mode }
            if state.places.isEmpty { state.isArmed = false }
            return removed
        }
        for place in removed { place.anchor.invalidate() }
    }

    /// Nobody is told of anything any more.
    func stop() {
        let places = state.withLock { state in
            defer {
                state.places = []
                state.watch = nil
                state.connection = nil
            }
            return state.places
        }
        for place in places { place.anchor.invalidate() }
    }

    /// Watches until the stream can be read, or written, and has that told. Nothing while it is scheduled nowhere.
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
            // Somebody may have read or written without waiting to be told.
            guard side.isReady else { return self.arm(for: side) }
            switch self.direction {
            case .output: side.listener.tell(.hasSpaceAvailable)
            case .input:
                let connection = self.state.withLock { $0.connection }
                let isAtEnd = !side.hasBytes && connection?.isAtEnd == true
                side.listener.tell(isAtEnd ? .endEncountered : .hasBytesAvailable)
            }
        }
    }

    /// Has the delegate told of something that happened.
    func tell(_ side: CapturedSide, _ event: Stream.Event) {
        run(for: side) { $0.listener.tell(event) }
    }

    /// Runs the call once, on whatever run loop that the stream is scheduled in comes first.
    private func run(for side: CapturedSide, _ call: @escaping @Sendable (CapturedSide) -> Void) {
        let isDone = Flag()
        for place in state.withLock({ $0.places }) {
            let timer = Timer(timeInterval: 0, repeats: false) { [weak self, weak side] _ in
                guard let self, let side, self.state.withLock({ $0.connection != nil }) else { return }
                if isDone.isFirst { call(side) }
            }
            place.loop.add(timer, forMode: place.mode)
        }
    }

    private final class Flag: Sendable {
        private let happened = Mutex(false)

        var isFirst: Bool {
            happened.withLock { happened in
                defer { happened = true }
                return !happened
            }
        }
    }

    /// The network thread's side.
    @NetworkActor
    private final class Watch: StreamSocketHandler {
        private let socket: StreamSocket
        private let interest: Interest
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

        func socketIsReadable(_ socket: StreamSocket) { fire() }
        func socketIsWritable(_ socket: StreamSocket) { fire() }

        private func fire() {
            socket.interest = []
            let call = onReady
            onReady = nil
            call?()
        }
    }
}
