import Foundation
import Purl

extension Arena {
    /// A handler, or whoever awaits a task, has heard of its end.
    func finish(_ ticket: Ledger.Ticket, _ body: Data?, _ response: URLResponse?, _ error: (any Error)?) {
        keep((error as? URLError)?.downloadTaskResumeData)
        if error == nil, let body, let response { check(body, of: response) }
        ledger.end(ticket, Self.outcome(error))
    }

    /// The delegate has heard of a task's end.
    func finish(_ key: Ledger.Key, _ error: (any Error)?) {
        keep((error as? URLError)?.downloadTaskResumeData)
        ledger.end(key, Self.outcome(error))
    }

    /// Where there is something else than the resource, and what there is in the cache is anybody's.
    private static let others = ["/echo", "/cacheable"]

    /// A body that is long is the resource: all of it, and nothing else.
    func check(_ body: Data, of response: URLResponse) {
        guard body.count > 1000, let path = response.url?.path(), !Self.others.contains(path) else { return }
        let content = MisbehavingServer.content
        ledger.check(content.matches(body), "a body is not the resource: \(path)")
        // Without a length nobody can tell that the rest is missing.
        let isWhole = body.count == content.size || path == "/until-close"
        ledger.check(isWhole, "a body has \(body.count) bytes: \(path)")
    }

    private static func outcome(_ error: (any Error)?) -> String {
        guard let error else { return "success" }
        return (error as? URLError).map { "URLError \($0.code.rawValue)" } ?? "\(type(of: error))"
    }
}
