import Foundation
import Purl

/// Orders what is on a list.
protocol OrderSender: Sendable {
    /// Returns when the shop has taken all orders. Where it throws or is killed, it is begun again, with the same list.
    ///
    /// - Parameters:
    ///   - orders: What is ordered, in this order. Each has to arrive, and to count once.
    ///   - shop: Where an order is sent by `POST`. Two with the same field `Idempotency-Key` are one order to the shop.
    func send(_ orders: [String], to shop: URL) async throws
}

/// Exercise 11: orders that each arrive once, though connections are lost and the program is killed.
///
/// Here an order is lost with its connection, and a program that is begun again orders everything once more.
struct Exercise11: OrderSender {
    func send(_ orders: [String], to shop: URL) async throws {
        for order in orders {
            var request = URLRequest(url: shop)
            request.httpMethod = "POST"
            request.httpBody = Data(order.utf8)
            _ = try? await URLSession.shared.data(for: request)
        }
    }
}
