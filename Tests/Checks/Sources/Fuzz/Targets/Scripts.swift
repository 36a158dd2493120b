import PurlHTTP

@testable import PurlTesting

extension FuzzTarget {
    /// Server scripts: an error lies in the script, and every request of a script that is taken has a reply.
    static let scripts = FuzzTarget("scripts") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        do throws(PurlTesting.ServerScript.ParseError) {
            let script = try PurlTesting.ServerScript(text)
            for var route in script.routes {
                for number in 1...4 {
                    var head = RequestHead(method: number == 3 ? .head : .get, target: route.path)
                    head.fields.append(.host, "127.0.0.1:8080")
                    if number.isMultiple(of: 2) { head.fields.append(.range, "bytes=1-") }
                    _ = route.next(to: ReceivedRequest(number: number, connection: 1, head: head))
                }
            }
        } catch {
            let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            require((1...lines.count).contains(error.line), "an error is in a line of the script")
            require((1...(lines[error.line - 1].count + 1)).contains(error.column), "and at one of its characters")
            require(!error.reason.isEmpty, "and says what is wrong")
        }
    }
}
