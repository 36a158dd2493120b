import Purl

/// A lane of a picture.
enum DiagramLane: Hashable {
    /// The program, what works for it, or the server.
    case part(TransferTrace.Lane)
    /// A connection to the server: see ``ConnectionLanes``.
    case connection(Int)
    /// All connections that have no lane of their own.
    case otherConnections

    /// The lane's name above it in a picture.
    var title: String {
        switch self {
        case .part(let lane): lane.title
        case .connection(let number): "connection \(number)"
        case .otherConnections: "other connections"
        }
    }
}

/// The lanes of connections, which take the place of the server's where several carry parts of one resource at the same time.
struct ConnectionLanes {
    /// A picture with more lanes is too wide to be read.
    private static let maximum = 8

    /// The connections that have a lane of their own; none where the server has one for all.
    private let numbers: Set<Int>

    init(_ events: [TransferTrace.Event]) {
        guard Self.carryParts(events) else {
            numbers = []
            return
        }
        var numbers: Set<Int> = []
        for number in events.lazy.compactMap(\.connection) {
            if numbers.count == Self.maximum { break }
            numbers.insert(number)
        }
        self.numbers = numbers
    }

    var isEmpty: Bool { numbers.isEmpty }

    /// Where what goes to the server, or comes from it, is drawn.
    ///
    /// - Parameter connection: The connection's number, if it is known.
    func lane(of connection: Int?) -> DiagramLane {
        guard let connection, !isEmpty else { return .part(.server) }
        return numbers.contains(connection) ? .connection(connection) : .otherConnections
    }

    /// The lanes of a picture that has these, from the left.
    static func ordered(_ lanes: Set<DiagramLane>) -> [DiagramLane] {
        let connections = lanes.compactMap { lane in
            if case .connection(let number) = lane { number } else { nil }
        }
        let all =
            TransferTrace.Lane.allCases.map(DiagramLane.part) + connections.sorted().map(DiagramLane.connection)
            + [.otherConnections]
        return all.filter(lanes.contains)
    }

    /// The connection of each step; of what comes before a task has one, its next.
    static func connections(of steps: [TraceStep]) -> [Int?] {
        var next: [Int?: Int] = [:]
        let reversed = steps.reversed().map { step in
            if let connection = step.event.connection { next[step.event.task] = connection }
            return next[step.event.task]
        }
        return reversed.reversed()
    }

    /// Whether a range is requested over one connection while another carries the same resource.
    private static func carryParts(_ events: [TransferTrace.Event]) -> Bool {
        var open: [Int: (url: String, connection: Int)] = [:]
        var connections: [String: [Int: Int]] = [:]
        for event in events {
            guard let exchange = event.exchange, let connection = event.connection else { continue }
            switch event.kind {
            case .requestHead(let head):
                open[exchange] = (head.url, connection)
                connections[head.url, default: [:]][connection, default: 0] += 1
                if head.value(of: "Range") != nil, connections[head.url].map({ $0.count > 1 }) == true { return true }
            case .responseEnd, .exchangeFailed, .abandoned, .switched:
                guard let ended = open.removeValue(forKey: exchange) else { continue }
                let count = (connections[ended.url]?[ended.connection] ?? 0) - 1
                connections[ended.url]?[ended.connection] = count > 0 ? count : nil
            default: continue
            }
        }
        return false
    }
}
