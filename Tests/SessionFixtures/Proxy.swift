import Foundation
import Purl
import PurlTesting

/// A proxy for tests: a server that receives absolute URLs, and answers them itself.
enum Proxy {
    static let basicChallenge = #"Basic realm="way out""#

    static func dictionary(_ server: LoopbackServer, _ more: [AnyHashable: Any] = [:]) -> [AnyHashable: Any] {
        dictionary(port: server.port).merging(more) { $1 }
    }

    static func dictionary(port: UInt16) -> [AnyHashable: Any] {
        [
            kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy: "127.0.0.1",
            kCFNetworkProxiesHTTPPort: Int(port),
        ]
    }

    /// The content for the right `Proxy-Authorization`, and a 407 for any other.
    static func reply(_ inside: Reply = .text("inside")) -> Reply {
        .computed { request in
            if request.fields["Proxy-Authorization"] == ProtectedResource.basic { return inside }
            return .text("who are you?").status(407).field("Proxy-Authenticate", basicChallenge)
        }
    }
}
