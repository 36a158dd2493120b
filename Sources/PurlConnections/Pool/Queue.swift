/// First in, first out, in constant time.
package struct Queue<Element> {
    private var elements: [Element?] = []
    private var head = 0

    package init() {}

    package var isEmpty: Bool { head == elements.count }
    package var first: Element? { head < elements.count ? elements[head] : nil }
    package var count: Int { elements.count - head }

    /// The element with `position` others before it; `nil` when the queue is shorter.
    package subscript(position: Int) -> Element? {
        position >= 0 && position < count ? elements[head + position] : nil
    }

    package mutating func append(_ element: Element) { elements.append(element) }

    /// Removes the first element of a queue that is not empty.
    package mutating func removeFirst() {
        elements[head] = nil
        head += 1
        if head > 64, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
    }
}

/// The highest priority first; first in, first out among equals. Constant time in the number of elements; linear in the
/// number of priorities, of which there are few.
struct PriorityQueue<Element> {
    private struct Level {
        let priority: Float
        var queue = Queue<Element>()
    }

    /// The highest priority first. A few empty ones are kept: they will be needed again.
    private var levels: [Level] = []

    private var top: Int? { levels.firstIndex { !$0.queue.isEmpty } }

    var isEmpty: Bool { top == nil }
    var first: Element? { top.flatMap { levels[$0].queue.first } }
    /// The priority with which the first element was appended.
    var firstPriority: Float? { top.map { levels[$0].priority } }

    mutating func append(_ element: Element, priority: Float) {
        let position = levels.firstIndex { $0.priority <= priority } ?? levels.count
        if position == levels.count || levels[position].priority != priority {
            levels.insert(Level(priority: priority), at: position)
        }
        levels[position].queue.append(element)
    }

    mutating func removeFirst() {
        guard let top else { return }
        levels[top].queue.removeFirst()
        if levels.count > 4, levels[top].queue.isEmpty { levels.remove(at: top) }
    }
}
