import Foundation
import Purl
import PurlTesting

/// A proxy for tests: a server that is sent whole URLs, and answers them itself.
enum Proxy {
    static let asksBasic = #"Basic realm="way out""#

    static func dictionary(_ server: LoopbackServer, _ more: [AnyHashable: Any] = [:]) -> [AnyHashable: Any] {
        dictionary(port: server.port).merging(more) { $1 }
    }

    static func dictionary(port: UInt16) -> [AnyHashable: Any] {
        [
            kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy: "127.0.0.1",
            kCFNetworkProxiesHTTPPort: Int(port),
        ]
    }

    /// Lets whoever knows the word through to `inside`.
    static func reply(_ inside: Reply = .text("inside")) -> Reply {
        .computed { request in
            if request.fields["Proxy-Authorization"] == Door.basic { return inside }
            return .text("who are you?").status(407).field("Proxy-Authenticate", asksBasic)
        }
    }
}
