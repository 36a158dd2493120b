/// The highest priority first; first in, first out among equals. Constant time for as many priorities as anybody uses.
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
    /// The priority of the first one's place.
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
