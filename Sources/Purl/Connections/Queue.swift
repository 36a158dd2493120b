/// First in, first out, in constant time.
struct Queue<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }
    var first: Element? { head < elements.count ? elements[head] : nil }
    var count: Int { elements.count - head }

    /// The element that so many have come before; `nil` when there is none.
    subscript(position: Int) -> Element? {
        position >= 0 && position < count ? elements[head + position] : nil
    }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeFirst() {
        elements[head] = nil
        head += 1
        if head > 64, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
    }
}
