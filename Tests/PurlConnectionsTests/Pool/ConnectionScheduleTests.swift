import PurlIO
import Testing

@testable import PurlConnections

@Suite("The schedule of exchanges and connections")
@NetworkActor
struct ConnectionScheduleTests {
    /// An exchange that waits.
    @NetworkActor
    private final class Exchange: ConnectionWaiter {
        let name: String
        var isWaiting = true
        var priority: Float
        let demand: ConnectionDemand

        init(_ name: String, _ priority: Float, demand: ConnectionDemand = .any) {
            self.name = name
            self.priority = priority
            self.demand = demand
        }
    }

    /// What happens to a schedule.
    enum Event: Sendable {
        /// An exchange comes, with its priority.
        case comes(String, Float = 0.5)
        /// An exchange comes whose reused connection was dead.
        case comesAgain(String)
        /// An exchange comes whose request must not be sent twice.
        case comesOnce(String)
        case changes(String, to: Float)
        case givesUp(String)
        /// A connection has come free.
        case free(String)
        /// A connection that was in use is closed.
        case closed
        /// One that is idle is no longer trusted, or has been closed by its server.
        case stale(String)
        case ended(String)
        /// The server has kept a connection open.
        case kept
        /// A reused connection has proved dead.
        case lost
        /// The dialled connection found no descriptor, and its exchange waits again.
        case shortage(String)
        /// An exchange asks for fresh connections only: the idle ones are closed.
        case retires
    }

    /// Events, and what is done after all of them: `a←1` for an exchange that gets a connection, `a…` for one that is
    /// dialled for, `✕1` for a connection that is closed.
    struct Story: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var limit = 1
        let events: [Event]
        let steps: [String]
    }

    nonisolated static let stories = [
        Story(
            testDescription: "a new one is dialled where none is idle",
            limit: 2, events: [.comes("a"), .comes("b"), .comes("c")], steps: ["a…", "b…"]),
        Story(
            testDescription: "an idle one goes before a new one",
            limit: 2, events: [.comes("a"), .free("1"), .comes("b")], steps: ["a…", "b←1"]),
        Story(
            testDescription: "the one that was used last is used first",
            limit: 2, events: [.comes("a"), .comes("b"), .free("1"), .free("2"), .comes("c"), .comes("d")],
            steps: ["a…", "b…", "c←2", "d←1"]),
        Story(
            testDescription: "a freed one goes to the exchange that has waited longest",
            events: [.comes("a"), .comes("b"), .comes("c"), .free("1"), .free("1")], steps: ["a…", "b←1", "c←1"]),
        Story(
            testDescription: "the highest priority goes first, equal ones in their order",
            events: [
                .comes("a"), .comes("b", 0.1), .comes("c", 0.9), .comes("d"), .comes("e", 0.9), .free("1"), .free("1"),
                .free("1"), .free("1"),
            ], steps: ["a…", "c←1", "e←1", "d←1", "b←1"]),
        Story(
            testDescription: "a changed priority puts an exchange behind those that have it",
            events: [
                .comes("a"), .comes("b"), .comes("c", 0.9), .changes("b", to: 0.9), .free("1"), .free("1"), .free("1"),
            ], steps: ["a…", "c←1", "b←1"]),
        Story(
            testDescription: "a lowered priority does the same",
            events: [.comes("a"), .comes("b"), .comes("c"), .changes("b", to: 0.1), .free("1"), .free("1")],
            steps: ["a…", "c←1", "b←1"]),
        Story(
            testDescription: "one that has given up is left out",
            events: [.comes("a"), .comes("b"), .comes("c"), .givesUp("b"), .free("1")], steps: ["a…", "c←1"]),
        Story(
            testDescription: "a closed one makes room for a new one",
            events: [.comes("a"), .comes("b"), .closed], steps: ["a…", "b…"]),
        Story(
            testDescription: "an idle one that is not trusted is closed, and another dialled",
            events: [.comes("a"), .free("1"), .stale("1"), .comes("b")], steps: ["a…", "✕1", "b…"]),
        Story(
            testDescription: "one that ended while idle is passed over",
            limit: 2, events: [.comes("a"), .comes("b"), .free("1"), .free("2"), .ended("2"), .closed, .comes("c")],
            steps: ["a…", "b…", "c←1"]),
        Story(
            testDescription: "idle ones are closed when they are not trusted any more",
            events: [.comes("a"), .free("1"), .retires, .comes("b")], steps: ["a…", "✕1", "b…"]),
        Story(
            testDescription: "a retry is dialled for, though one is idle",
            limit: 2, events: [.comes("a"), .free("1"), .comesAgain("b"), .comes("c")], steps: ["a…", "b…", "c←1"]),
        Story(
            testDescription: "at the limit, a freed one is closed in favour of a retry",
            events: [.comes("a"), .comesAgain("b"), .comes("c"), .free("1"), .free("2")],
            steps: ["a…", "✕1", "b…", "c←2"]),
        Story(
            testDescription: "at the limit, a retry waits until one is free",
            limit: 2, events: [.comes("a"), .comes("b"), .comesAgain("c"), .closed], steps: ["a…", "b…", "c…"]),
        Story(
            testDescription:
                "one that must not be sent twice is dialled for until the server has kept a connection open",
            limit: 3, events: [.comes("a"), .free("1"), .comesOnce("b"), .kept, .comesOnce("c")],
            steps: ["a…", "b…", "c←1"]),
        Story(
            testDescription: "after a reused one has proved dead, the server has to keep one open again",
            limit: 3, events: [.comes("a"), .kept, .free("1"), .lost, .comesAgain("b"), .comesOnce("c"), .comes("d")],
            steps: ["a…", "b…", "c…", "d←1"]),
        Story(
            testDescription: "at the limit it has to do with the only idle one",
            events: [.comes("a"), .comesOnce("b"), .free("1")], steps: ["a…", "b←1"]),
        Story(
            testDescription: "of several idle ones one is closed in favour of it",
            limit: 2, events: [.comes("a"), .comes("b"), .free("1"), .free("2"), .comesOnce("c")],
            steps: ["a…", "b…", "✕2", "c…"]),
        Story(
            testDescription: "where descriptors run out, the open ones have to do",
            limit: 3, events: [.comes("a"), .comes("b"), .shortage("b"), .comes("c"), .free("1"), .free("1")],
            steps: ["a…", "b…", "b←1", "c←1"]),
        Story(
            testDescription: "once no exchange waits, more are tried again",
            limit: 3, events: [.comes("a"), .comes("b"), .shortage("b"), .free("1"), .comes("c"), .comes("d")],
            steps: ["a…", "b…", "b←1", "c…", "d…"]),
    ]

    @Test("The schedule leases, dials and closes as the events demand", arguments: stories)
    func decides(story: Story) {
        var schedule = ConnectionSchedule<Exchange, String>(limit: story.limit)
        var exchanges: [String: Exchange] = [:]
        var states: [String: IdleState] = [:]
        var steps: [String] = []
        func serve() {
            while true {
                switch schedule.next(
                    { connection, _ in states[connection] ?? .usable }, close: { steps.append("✕\($0)") })
                {
                case .use(let connection, let exchange):
                    exchange.isWaiting = false
                    steps.append("\(exchange.name)←\(connection)")
                case .dial(let exchange):
                    exchange.isWaiting = false
                    steps.append("\(exchange.name)…")
                case .wait: return
                }
            }
        }
        for event in story.events {
            switch event {
            case .comes(let name, let priority):
                let exchange = Exchange(name, priority)
                exchanges[name] = exchange
                schedule.append(exchange)
            case .comesAgain(let name):
                let exchange = Exchange(name, 0.5, demand: .new)
                exchanges[name] = exchange
                schedule.append(exchange)
            case .comesOnce(let name):
                let exchange = Exchange(name, 0.5, demand: .lasting)
                exchanges[name] = exchange
                schedule.append(exchange)
            case .kept: schedule.connectionWasKept()
            case .lost: schedule.connectionWasLost()
            case .changes(let name, let priority):
                guard let exchange = exchanges[name] else { continue }
                exchange.priority = priority
                schedule.append(exchange)
            case .givesUp(let name): exchanges[name]?.isWaiting = false
            case .free(let connection): schedule.addIdle(connection)
            case .closed: schedule.removeOpen()
            case .stale(let connection): states[connection] = .stale
            case .ended(let connection): states[connection] = .closed
            case .shortage(let name):
                guard let exchange = exchanges[name] else { continue }
                let makesDo = schedule.limitToDescriptors()
                #expect(makesDo)
                exchange.isWaiting = true
                schedule.append(exchange)
                schedule.removeOpen()
            case .retires:
                for connection in schedule.removeIdle({ states[$0] ?? .stale }) {
                    steps.append("✕\(connection)")
                    schedule.removeOpen()
                }
            }
            serve()
        }
        #expect(steps == story.steps)
    }

    @Test("A shortage of descriptors without another connection fails the exchange")
    func shortageWithoutOthers() {
        var schedule = ConnectionSchedule<Exchange, String>(limit: 6)
        schedule.addOpen()
        let makesDo = schedule.limitToDescriptors()
        #expect(!makesDo)
    }

    @Test(
        "httpMaximumConnectionsPerHost applies to HTTP connections",
        arguments: [("http", 6), ("http+unix", 6), ("ws", 1), ("tcp", Int.max)])
    func limits(scheme: String, limit: Int) {
        let hop = NextHop.server(Origin(scheme: scheme, endpoint: .host("a", port: 80)))
        #expect(hop.limit(perHost: 6) == limit)
        #expect(NextHop.proxy(.host("a", port: 80)).limit(perHost: 6) == 6)
    }

    @Test("takeIdle takes no connection while exchanges wait")
    func takeIdle() {
        var schedule = ConnectionSchedule<Exchange, String>(limit: 1)
        schedule.addOpen()
        schedule.addIdle("1")
        let first = schedule.takeIdle(for: .any, { _ in .usable }, close: { _ in })
        #expect(first == "1")
        schedule.append(Exchange("a", 0.5))
        schedule.addIdle("1")
        let second = schedule.takeIdle(for: .any, { _ in .usable }, close: { _ in })
        #expect(second == nil)
    }
}
