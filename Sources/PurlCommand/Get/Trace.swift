import Foundation
import Purl

/// What `-v` shows: requests (`>`), responses (`<`) and delegate calls (`*`).
struct Trace: Sendable {
    /// `nil` shows nothing.
    let console: Console?
    /// Whose calls these are, when there are several; empty otherwise.
    let name: String

    /// A request: once it has been answered, its fields are those that went over the wire.
    func request(_ request: URLRequest?) {
        guard let request else { return }
        show(">", "\(request.httpMethod ?? "GET") \(request.url?.absoluteString ?? "")")
        fields(">", request.allHTTPHeaderFields ?? [:])
    }

    func response(_ response: HTTPURLResponse) {
        let reason = HTTPURLResponse.localizedString(forStatusCode: response.statusCode)
        show("<", "\(response.statusCode) \(reason)")
        let pairs = response.allHeaderFields.map { ("\($0.key.base)", "\($0.value)") }
        fields("<", Dictionary(pairs, uniquingKeysWith: { $1 }))
    }

    /// A call of the delegate, and what it answered.
    func call(_ name: String, _ details: String) {
        show("*", (self.name.isEmpty ? "" : self.name + ": ") + "\(name): \(details)")
    }

    private func fields(_ mark: String, _ fields: [String: String]) {
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) { show(mark, "\(name): \(value)") }
    }

    private func show(_ mark: String, _ text: String) {
        console?.say("\(mark) \(text)")
    }
}
