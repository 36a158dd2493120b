/// The descriptors and timers of the network thread. One turn waits for events, delivers them to their channels, and runs
/// due timers.
@NetworkActor package final class EventLoop {
    /// The loop that the network thread runs; in a simulation, that of the process that is running.
    package static var shared: EventLoop {
        if let machine = Simulated.machine { return machine.loop }
        return ofNetworkThread
    }

    private static let ofNetworkThread = EventLoop(signal: NetworkActor.shared.executor.signal)

    /// The time at which this turn began to run callbacks.
    package var now: MonotonicTime { turnStart }
    /// How many turns have begun.
    package var turns: UInt64 { turnCount }

    // Private: each access to a stored property that other targets see is checked for exclusivity while the program runs.
    private var turnStart = MonotonicTime.current
    private var turnCount: UInt64 = 0
    /// Events are being delivered, or there are more than the poller could report at once.
    private var isDelivering = false

    private let poller: any Poller
    private let signal: WakeSignal?
    /// How many milliseconds the poller may wait without a timer; negative: without a limit.
    private let longestWait: Int32
    private let scratchBuffer = ScratchBuffer(byteCount: 256 << 10)
    private lazy var sendScratchBuffer = ScratchBuffer(byteCount: 256 << 10)
    private lazy var arrivingRecordsBuffer = ScratchBuffer(byteCount: 65_536)
    private lazy var departingRecordsBuffer = ScratchBuffer(byteCount: 65_536 + 1024)
    private lazy var previewBuffer = ScratchBuffer(byteCount: 4096)
    private var timers = TimerHeap()
    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []
    private var events: [PollEvent] = []
    private var workAfterTurn: [@Sendable () -> Void] = []
    private var lastConnection: UInt64 = 0

    /// A loop over `poller` that only its descriptors and timers wake.
    package init(poller: any Poller) {
        self.poller = poller
        signal = nil
        longestWait = -1
    }

    /// A loop that `signal` wakes. When there is none, or it cannot be watched, the loop wakes every 10 ms.
    private init(signal: WakeSignal?) {
        let poller = Platform.makePoller()
        let token = PollToken(slot: 0, generation: 0)
        slots = [Slot()]
        if let signal, (try? poller.change(signal.readable, token: token, from: [], to: .read)) != nil {
            longestWait = -1
        } else {
            longestWait = 10
        }
        self.poller = poller
        self.signal = signal
    }

    /// Runs `action` once, `delay` from now (soon, when that is zero or less), never within this call.
    /// The loop keeps the timer until then.
    @discardableResult
    package func schedule(after delay: Duration, _ action: @escaping @NetworkActor () -> Void) -> LoopTimer {
        let timer = LoopTimer(loop: self, action: action)
        timers.insert(timer, at: now + max(delay, .zero))
        return timer
    }

    /// 256 KiB for reads on this thread; what it holds is valid until the next read.
    package var scratch: UnsafeMutableRawBufferPointer { scratchBuffer.bytes }

    /// 256 KiB for bytes that are read from a file and sent at once. Apart from ``scratch``, of which the caller of a `send`
    /// may still have bytes to parse.
    var sendScratch: UnsafeMutableRawBufferPointer { sendScratchBuffer.bytes }

    /// 64 KiB for the records of a security layer that are read on this thread, before the layer takes them. Apart from
    /// ``scratch``, which their content is read into.
    package var arrivingRecords: UnsafeMutableRawBufferPointer { arrivingRecordsBuffer.bytes }

    /// Room for the records of 64 KiB of content, which go out in one call: each adds some bytes to its content.
    package var departingRecords: UnsafeMutableRawBufferPointer { departingRecordsBuffer.bytes }

    /// 4 KiB for content of which only is asked whether there is any. Apart from ``scratch``, which may hold what is parsed.
    package var preview: UnsafeMutableRawBufferPointer { previewBuffer.bytes }

    /// Runs one turn: polls (and waits only when `waiting`), then runs channels' callbacks, then due timers.
    func turn(waiting: Bool) {
        let isEverything = poller.wait(milliseconds: waiting ? longestPoll() : 0, into: &events)
        beginTurn()
        isDelivering = true
        var position = 0
        while position < events.count {
            dispatch(events[position])
            position += 1
        }
        isDelivering = !isEverything
        fireDueTimers()
    }

    /// Runs one turn of a simulated process: `deliver` delivers its events in place of a poller, then due timers run.
    package func turn(delivering deliver: () -> Void) {
        beginTurn()
        isDelivering = true
        deliver()
        isDelivering = false
        fireDueTimers()
    }

    /// When the next timer is due; `nil` when there is none.
    package var nextDeadline: MonotonicTime? { timers.nextDeadline }

    /// The next of the numbers that tell the connections of a process apart, from 1.
    package func nextConnectionNumber() -> UInt64 {
        lastConnection += 1
        return lastConnection
    }

    private func beginTurn() {
        turnStart = .current
        turnCount &+= 1
    }

    private func fireDueTimers() {
        // A timer that these actions schedule waits for the next turn, or one that renews itself would block the loop.
        let newest = timers.nextSequence
        while let timer = timers.popDue(at: now, before: newest) {
            timer.fire()
        }
    }

    /// Whether every event that happened before some point in time after `turn` has been delivered.
    package func hasDeliveredAll(since turn: UInt64) -> Bool {
        turns > turn && !isDelivering
    }

    /// Runs `body` at the end of this turn, after the work that other threads have posted.
    func runAfterTurn(_ body: @escaping @Sendable () -> Void) {
        workAfterTurn.append(body)
    }

    /// Ends the turn: runs what waits for that.
    package func endTurn() {
        guard !workAfterTurn.isEmpty else { return }
        let due = workAfterTurn
        workAfterTurn = []
        for body in due { body() }
    }

    /// Removes a timer that will not fire.
    func remove(_ timer: LoopTimer) {
        timers.remove(timer)
    }

    // MARK: Channels

    /// Registers `channel`, and keeps it alive until `unregister`.
    func register(_ channel: Channel) -> PollToken {
        let token = claimSlot()
        slots[Int(token.slot)].channel = channel
        return token
    }

    /// Removes the channel of `token`. Events of this batch that carry the token are dropped.
    func unregister(_ token: PollToken) {
        slots[Int(token.slot)].channel = nil
        slots[Int(token.slot)].generation &+= 1
        freeSlots.append(token.slot)
    }

    /// Changes the poller's interest in a descriptor. False, and nothing has changed, when the system had no memory for it.
    func change(_ descriptor: Int32, token: PollToken, from old: TransportInterest, to new: TransportInterest) -> Bool {
        (try? poller.change(descriptor, token: token, from: old, to: new)) != nil
    }

    private func claimSlot() -> PollToken {
        if let free = freeSlots.popLast() {
            return PollToken(slot: free, generation: slots[Int(free)].generation)
        }
        slots.append(Slot())
        return PollToken(slot: UInt32(truncatingIfNeeded: slots.count - 1), generation: 0)
    }

    private func dispatch(_ event: PollEvent) {
        let slot = slots[Int(event.token.slot)]
        guard slot.generation == event.token.generation else { return }
        if let channel = slot.channel {
            channel.deliver(event.readiness)
        } else {
            signal?.clear()
        }
    }

    /// How many milliseconds the poller may wait; negative: without a limit.
    private func longestPoll() -> Int32 {
        guard let deadline = timers.nextDeadline else { return longestWait }
        let nanoseconds = max(0, deadline.nanoseconds - MonotonicTime.current.nanoseconds)
        // Rounded up, or the last part of a millisecond would be spent spinning.
        let milliseconds = Int32(clamping: nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1))
        return longestWait < 0 ? milliseconds : min(milliseconds, longestWait)
    }

    private struct Slot {
        var generation: UInt32 = 0
        var channel: Channel?
    }

    private final class ScratchBuffer {
        let bytes: UnsafeMutableRawBufferPointer

        init(byteCount: Int) {
            bytes = .allocate(byteCount: byteCount, alignment: 64)
        }

        deinit {
            bytes.deallocate()
        }
    }
}
