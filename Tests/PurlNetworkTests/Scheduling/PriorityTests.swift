import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import PurlConnections
@testable import SessionFixtures

@Suite("The priority of tasks that wait for a connection", .timeLimit(.minutes(5)))
struct PriorityTests {
    private let server: LoopbackServer
    private let gate = ServerGate()
    private let witness = Witness()
    private let session: URLSession
    private let sandbox = Sandbox()

    init() throws {
        server = try LoopbackServer()
        server.route("/first", .text("hello").delayed(until: gate))
        server.fallback(.text("hello"))
        session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 1 }
    }

    /// Makes tasks with these priorities wait for a connection that another task has.
    private func wait(_ priorities: [Float]) async -> [URLSessionTask] {
        session.dataTask(with: server.url("/first")).resume()
        await gate.reached()
        return priorities.enumerated().map { number, priority in
            let task = session.dataTask(with: server.url("/\(number)"))
            task.priority = priority
            task.resume()
            return task
        }
    }

    /// Gives the connection back once every task waits for it with its last priority: an answer that arrives together with the
    /// news of a priority may be handled first.
    private func openGate() async {
        await NetworkThread.settle()
        gate.open()
    }

    @Test("Tasks are served by descending priority, equal ones in the order of resume")
    func order() async throws {
        let tasks = await wait([0.5, 0.25, 0.75, 0.5, 1, 0.75, 0])
        #expect(tasks.count == 7)
        await openGate()
        await witness.completion(of: 8)
        #expect(server.requests.map(\.path).dropFirst() == ["/4", "/2", "/5", "/0", "/3", "/1", "/6"])
    }

    @Test("A priority that is changed while the task waits counts")
    func change() async throws {
        let tasks = await wait([0.5, 0.5, 0.5])
        tasks[2].priority = URLSessionTask.highPriority
        tasks[0].priority = URLSessionTask.lowPriority
        await openGate()
        await witness.completion(of: 4)
        #expect(server.requests.map(\.path).dropFirst() == ["/2", "/1", "/0"])
    }

    @Test("A priority that is changed and restored keeps the task's place")
    func back() async throws {
        let tasks = await wait([0.5, 0.5])
        tasks[0].priority = 0
        tasks[0].priority = 0.5
        await openGate()
        await witness.completion(of: 3)
        #expect(server.requests.map(\.path).dropFirst() == ["/0", "/1"])
    }

    @Test("The queue is sorted by priority and stable")
    func line() {
        var generator = SystemRandomNumberGenerator()
        var line = PriorityQueue<(priority: Float, number: Int)>()
        var taken: [(priority: Float, number: Int)] = []
        for number in 0..<500 {
            let priority = Float(Int.random(in: 0...9, using: &generator)) / 10
            line.append((priority, number), priority: priority)
        }
        while let next = line.first {
            #expect(line.firstPriority == next.priority)
            taken.append(next)
            line.removeFirst()
        }
        #expect(line.isEmpty)
        #expect(taken.count == 500)
        for (one, other) in zip(taken, taken.dropFirst()) {
            #expect(
                one.priority > other.priority || (one.priority == other.priority && one.number < other.number))
        }
    }
}
