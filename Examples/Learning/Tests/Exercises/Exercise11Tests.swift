import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Synchronization
import Testing

@testable import LearningExercises

@Suite("Exercise 11: each order once", .timeLimit(.minutes(2)))
struct Exercise11Tests {
    /// The shop, which takes two orders with one key for one.
    private final class Shop: Sendable {
        private let state = Mutex((orders: [String](), keys: Set<String>()))

        var orders: [String] { state.withLock { $0.orders } }

        func take(_ request: ReceivedRequest) -> Reply {
            state.withLock { state in
                let isNew = request.fields["Idempotency-Key"].map { state.keys.insert($0).inserted } ?? true
                if isNew { state.orders.append(String(decoding: request.body, as: UTF8.self)) }
            }
            return .text("taken")
        }
    }

    private struct WrongOrders: Error, CustomStringConvertible {
        let orders: [String]
        var description: String { "the shop has taken \(orders)" }
    }

    private static let list = ["tea", "sugar", "tea"]

    private func expect(
        _ chaos: World.Chaos, _ seeds: ClosedRange<UInt64>, _ comment: Comment,
        _ isRight: @escaping @Sendable ([String]) -> Bool
    ) {
        let sender: any OrderSender = Exercises.areMine ? Exercise11() : Solution11()
        var failure: SimulationFailure?
        for seed in seeds where failure == nil {
            do throws(SimulationFailure) {
                try Simulation(Seed(seed)).run { world in
                    let shop = Shop()
                    let orders = world.server("shop.example").route(
                        "/orders", method: "POST", .computed { shop.take($0) })
                    world.chaos = chaos
                    try await world.computer("laptop").run("shopping") {
                        for _ in 1...50 {
                            do {
                                return try await sender.send(Self.list, to: orders)
                            } catch is URLError {
                                try await world.sleep(for: .seconds(10))
                            }
                        }
                    }
                    guard isRight(shop.orders) else { throw WrongOrders(orders: shop.orders) }
                }
            } catch {
                failure = error
            }
        }
        let story = failure.map { "\n\($0)" } ?? ""
        #expect(failure == nil, "\(comment)\(story)")
    }

    @Test("Each order arrives, though connections are lost")
    func lostConnections() {
        expect(.resets, 1...50, "The shop has tea, sugar and tea on its list, and nothing is missing.") { orders in
            Set(orders) == ["tea", "sugar"] && orders.count { $0 == "tea" } >= 2
        }
    }

    @Test("No order counts twice, though the program is killed")
    func kills() {
        expect(
            .kills, 1...50,
            "A program that was killed is begun again with the same list. What it has ordered before is not ordered again."
        ) { orders in
            orders.count <= Self.list.count
        }
    }
}
