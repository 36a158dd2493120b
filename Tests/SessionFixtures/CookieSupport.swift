import Foundation
import PurlHTTP
import Synchronization

@testable import Purl

/// A clock that stands still until it is set.
final class StoppedClock: Sendable {
    private let moment: Mutex<Date>

    init(_ start: Date = Date(timeIntervalSince1970: 1_800_000_000)) {
        moment = Mutex(start)
    }

    var now: Date { moment.withLock { $0 } }

    func advance(by seconds: TimeInterval) {
        moment.withLock { $0 += seconds }
    }
}

extension HTTPCookieStorage {
    /// A storage in memory with this clock.
    convenience init(clock: StoppedClock) {
        self.init(file: nil, publicSuffixes: PublicSuffixList { nil }, clock: { clock.now })
    }

    /// Stores the cookies of a response with these `Set-Cookie` lines.
    func receive(
        _ lines: String..., from url: String, document: String? = nil, policy: HTTPCookie.AcceptPolicy = .always
    ) {
        var fields = HeaderFields()
        for line in lines { fields.append(.setCookie, line) }
        guard let url = URL(string: url) else { return }
        storeCookies(in: fields, from: url, mainDocumentURL: document.flatMap { URL(string: $0) }, policy: policy)
    }

    /// The `Cookie` field of a request.
    func header(for url: String) -> String? {
        URL(string: url).flatMap { cookieHeader(for: URLRequest(url: $0)) }
    }

    /// The cookies as "name=value", in the order in which they would be sent.
    func pairs(for url: String) -> [String]? {
        URL(string: url).flatMap { cookies(for: $0) }?.map { "\($0.name)=\($0.value)" }
    }

    /// The names of all cookies, oldest first.
    var names: [String] { (cookies ?? []).map(\.name) }
}

extension HTTPCookie {
    /// A cookie for a.example and all of its paths, made by the program.
    static func made(_ name: String, _ changes: [HTTPCookiePropertyKey: Any] = [:]) -> HTTPCookie? {
        let properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: "v", .domain: "a.example", .path: "/"]
        return HTTPCookie(properties: properties.merging(changes) { $1 })
    }
}
