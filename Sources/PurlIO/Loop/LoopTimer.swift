/// One future action of the loop.
@NetworkActor package final class LoopTimer {
    /// Its index in the heap; `nil` before and after.
    fileprivate(set) var position: Int?

    private let loop: EventLoop
    private var action: (@NetworkActor () -> Void)?

    init(loop: EventLoop, action: @escaping @NetworkActor () -> Void) {
        self.loop = loop
        self.action = action
    }

    /// Drops the action, and releases what it captured. Has no effect once the action has run.
    package func cancel() {
        action = nil
        loop.remove(self)
    }

    /// Runs the action, once.
    func fire() {
        let action = action
        self.action = nil
        action?()
    }
}

/// Timers by deadline, in a binary heap whose members know their index: insert and cancel are O(log n).
/// Of timers with the same deadline the older one is first.
@NetworkActor struct TimerHeap {
    /// The number that the next timer gets; timers inserted before it have smaller ones.
    private(set) var nextSequence: UInt64 = 0
    private var entries: [Entry] = []

    /// When the next timer is due.
    var nextDeadline: MonotonicTime? { entries.first?.deadline }

    /// How many timers wait.
    var count: Int { entries.count }

    /// Adds a timer that is in no heap yet.
    mutating func insert(_ timer: LoopTimer, at deadline: MonotonicTime) {
        let entry = Entry(deadline: deadline, sequence: nextSequence, timer: timer)
        nextSequence += 1
        entries.append(entry)
        siftUp(entry, from: entries.count - 1)
    }

    /// Removes the timer when it is in the heap.
    mutating func remove(_ timer: LoopTimer) {
        guard let position = timer.position else { return }
        timer.position = nil
        let last = entries.removeLast()
        guard position < entries.count else { return }
        if position > 0, last.precedes(entries[(position - 1) / 2]) {
            siftUp(last, from: position)
        } else {
            siftDown(last, from: position)
        }
    }

    /// Removes and returns the first timer, when it is due at `now` and was inserted before `sequence`.
    mutating func popDue(at now: MonotonicTime, before sequence: UInt64) -> LoopTimer? {
        guard let first = entries.first, first.deadline <= now, first.sequence < sequence else { return nil }
        remove(first.timer)
        return first.timer
    }

    /// Finds the place of `entry` from the hole at `start` towards the root.
    private mutating func siftUp(_ entry: Entry, from start: Int) {
        var hole = start
        while hole > 0 {
            let parent = (hole - 1) / 2
            guard entry.precedes(entries[parent]) else { break }
            place(entries[parent], at: hole)
            hole = parent
        }
        place(entry, at: hole)
    }

    /// Finds the place of `entry` from the hole at `start` towards the leaves.
    private mutating func siftDown(_ entry: Entry, from start: Int) {
        var hole = start
        while true {
            var child = 2 * hole + 1
            guard child < entries.count else { break }
            if child + 1 < entries.count, entries[child + 1].precedes(entries[child]) { child += 1 }
            guard entries[child].precedes(entry) else { break }
            place(entries[child], at: hole)
            hole = child
        }
        place(entry, at: hole)
    }

    private mutating func place(_ entry: Entry, at position: Int) {
        entries[position] = entry
        entry.timer.position = position
    }

    private struct Entry {
        let deadline: MonotonicTime
        let sequence: UInt64
        let timer: LoopTimer

        func precedes(_ other: Entry) -> Bool {
            deadline != other.deadline ? deadline < other.deadline : sequence < other.sequence
        }
    }
}
