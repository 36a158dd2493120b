/// Descriptors and timers of the I/O thread. One turn waits for descriptors, tells their channels, and runs due timers.
@NetworkActor package final class EventLoop {
    /// The loop that the I/O thread runs.
    package static let shared = EventLoop(signal: NetworkActor.shared.executor.signal)

    /// The time at which this turn began to run callbacks.
    package private(set) var now = MonotonicTime.current
    /// How often the poller has been asked.
    package private(set) var turns: UInt64 = 0
    /// Not all that the poller found has been told yet.
    private var isTelling = false

    private let poller: any Poller
    private let signal: WakeSignal?
    /// How many milliseconds the poller may sleep without a timer; negative for ever.
    private let longestWait: Int32
    private let scratchBuffer = ScratchBuffer(byteCount: 256 << 10)
    private var timers = TimerHeap()
    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []
    private var events: [PollEvent] = []
    private var endings: [@Sendable () -> Void] = []

    /// A loop over `poller` that nobody but its descriptors and timers wakes.
    init(poller: any Poller) {
        self.poller = poller
        signal = nil
        longestWait = -1
    }

    /// A loop that `signal` wakes. When there is none, or it cannot be watched, the loop wakes by itself all the time.
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
    /// The loop keeps the timer until then; nobody else has to.
    @discardableResult
    package func schedule(after delay: Duration, _ action: @escaping @NetworkActor () -> Void) -> LoopTimer {
        let timer = LoopTimer(loop: self, action: action)
        timers.insert(timer, at: now + max(delay, .zero))
        return timer
    }

    /// 256 KiB for reads on this thread; what it holds is valid until the next read.
    package var scratch: UnsafeMutableRawBufferPointer { scratchBuffer.bytes }

    /// One turn: polls (sleeping for it only when `waiting`), then runs channels' callbacks, then due timers.
    func turn(waiting: Bool) {
        let isEverything = poller.wait(milliseconds: waiting ? patience() : 0, into: &events)
        now = .current
        turns &+= 1
        isTelling = true
        var position = 0
        while position < events.count {
            dispatch(events[position])
            position += 1
        }
        isTelling = !isEverything
        // A timer that these actions schedule waits for the next turn, or one that renews itself would keep the loop.
        let newest = timers.nextSequence
        while let timer = timers.popDue(at: now, before: newest) {
            timer.fire()
        }
    }

    /// Whether every channel has been told what happened to it until some moment after `turn`.
    package func hasToldAll(since turn: UInt64) -> Bool {
        turns > turn && !isTelling
    }

    /// Runs `body` when everything that this turn brought has been done.
    func runAfterTurn(_ body: @escaping @Sendable () -> Void) {
        endings.append(body)
    }

    /// The turn is over, and so is the work that other threads had handed over.
    func endTurn() {
        guard !endings.isEmpty else { return }
        let due = endings
        endings = []
        for ending in due { ending() }
    }

    /// The timer left the heap, or never will fire.
    func forget(_ timer: LoopTimer) {
        timers.remove(timer)
    }

    // MARK: Channels

    /// Makes `channel` known; until `unregister` the loop keeps it alive.
    func register(_ channel: Channel) -> PollToken {
        let token = claimSlot()
        slots[Int(token.slot)].channel = channel
        return token
    }

    /// Forgets the channel of `token`. Events of this batch that still carry the token reach nobody.
    func unregister(_ token: PollToken) {
        slots[Int(token.slot)].channel = nil
        slots[Int(token.slot)].generation &+= 1
        freeSlots.append(token.slot)
    }

    /// Tells the poller. False when the system had no memory for it: then nothing has changed.
    func change(_ descriptor: Int32, token: PollToken, from old: Interest, to new: Interest) -> Bool {
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

    /// How many milliseconds the poller may sleep; negative for ever.
    private func patience() -> Int32 {
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
