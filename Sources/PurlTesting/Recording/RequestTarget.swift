/// The parts of a request target (RFC 9112 §3.2) that routes look at.
struct RequestTarget: Equatable {
    /// The path, or the whole target where it has none (`*`, `host:port`).
    let path: String
    /// What follows the first `?`.
    let query: String?

    init(_ target: String) {
        var rest = target[...]
        // RFC 9112 §3.2.2: a server takes the absolute form too; only its path counts here.
        if !rest.hasPrefix("/"), let scheme = rest.firstRange(of: "://") {
            let authority = rest[scheme.upperBound...]
            rest = authority[(authority.firstIndex { $0 == "/" || $0 == "?" } ?? authority.endIndex)...]
            if !rest.hasPrefix("/") { rest = "/" + rest }
        }
        let question = rest.firstIndex(of: "?")
        path = String(rest[..<(question ?? rest.endIndex)])
        query = question.map { String(rest[rest.index(after: $0)...]) }
    }
}
