import Foundation
import Purl

/// The solution of exercise 11.
struct Solution11: OrderSender {
    func send(_ orders: [String], to shop: URL) async throws {
        for (number, order) in orders.enumerated() {
            var request = URLRequest(url: shop)
            request.httpMethod = "POST"
            request.httpBody = Data(order.utf8)
            // The same in every attempt, also after a kill.
            request.setValue("order-\(number)", forHTTPHeaderField: "Idempotency-Key")
            _ = try await URLSession.shared.data(for: request)
        }
    }
}
