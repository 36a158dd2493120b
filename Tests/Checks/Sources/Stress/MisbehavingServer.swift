import Foundation
import PurlTLS
import PurlTesting

/// A server most of whose responses go wrong.
struct MisbehavingServer: Sendable {
    static let content = GeneratedContent(size: 200_000, seed: 5)
    static let text = "a few words"
    static let user = "user"
    static let password = "word"

    let server: LoopbackServer
    /// Makes sessions trust the server; `nil` on a machine without OpenSSL.
    let provider: SystemTLS?
    /// The port of https and wss, where there is a provider.
    private let securePort: Int?
    /// Those that speak no HTTP.
    private let streams: [LoopbackServer]
    /// Their ports, and those where they begin with a handshake.
    private let streamPorts: [Int]

    init() throws {
        server = try LoopbackServer(maximumRecordedBody: 0, recordsRequests: false)
        streams = try Self.scripts.map {
            try LoopbackServer(maximumRecordedBody: 0, recordsRequests: false, stream: $0)
        }
        let plainPorts = streams.map { Int($0.port) }
        if TestAuthority.isAvailable {
            let authority = TestAuthority()
            provider = SystemTLS(trusting: try authority.rootDER)
            securePort = try server.listen(tls: ServerTLS(authority)).port
            streamPorts = plainPorts + (try streams.compactMap { try $0.listen(tls: ServerTLS(authority)).port })
        } else {
            (provider, securePort, streamPorts) = (nil, nil, plainPorts)
        }
        for (path, reply) in Self.replies { server.route(path, reply) }
    }

    /// A port of a server of streams, or now and then one without a server.
    func streamPort(_ dice: inout Dice) -> Int {
        dice.once(in: 32) ? dice.below(2) : dice.pick(streamPorts) ?? Int(server.port)
    }

    /// A URL of the server's, over TLS where it can be, one time of three.
    func url(_ path: String, isWebSocket: Bool = false, _ dice: inout Dice) -> URL {
        let plain = isWebSocket ? webSocketURL(path) : server.url(path)
        guard let securePort, dice.once(in: 3) else { return plain }
        return URL(string: "\(isWebSocket ? "wss" : "https")://127.0.0.1:\(securePort)\(path)") ?? plain
    }

    func closeConnections() { for server in [server] + streams { server.closeConnections() } }

    func stop() { for server in [server] + streams { server.stop() } }

    /// Paths of the resource, complete or spoilt, and of other replies.
    static let paths = replies.map(\.path)
    static let webSocketPaths = ["/ws", "/ws", "/ws", "/ws-talking", "/ws-closing", "/ws-cut", "/ws-reset", "/large"]

    /// Paths where the server switches protocols on request, and where it does not.
    static let upgradePaths = ["/stream", "/stream", "/stream-talking", "/stream-reset", "/large", "/chunked", "/echo"]

    private func webSocketURL(_ path: String) -> URL {
        URL(string: "ws://127.0.0.1:\(server.port)\(path)") ?? server.url(path)
    }

    private static let resource = Reply.generated(content).entityTag("\"v1\"")
    private static let moment = Duration.milliseconds(5)

    /// A gate that is never opened.
    private static let shut = ServerGate()

    private static let scripts: [StreamScript] = [
        .echo, .echo,
        .listening.send(content).finish(),
        .echo.receive(3000).reset(),
        .echo.receive(3000).cut(),
        .listening.notReading(until: shut),
        .listening.send(text).finish(),
    ]

    private static let replies: [(path: String, reply: Reply)] = [
        ("/text", .text(text)),
        ("/large", resource),
        ("/large", resource),
        ("/chunked", resource.chunked(size: 3000)),
        ("/until-close", resource.untilClose()),
        ("/slow", resource.throttled(bytesPerSecond: 1 << 20)),
        ("/late", resource.delayed(by: moment)),
        ("/paused", resource.chunked(size: 5000).fault(.pause(moment), at: .midBody)),
        ("/cut", resource.cut(at: .midBody)),
        ("/cut-twice", .sequence([resource.cut(at: .midBody), resource.cut(at: .midBody), resource])),
        ("/reset", resource.reset(at: .midBody)),
        ("/reset-head", resource.reset(at: .midHead)),
        ("/stalled", resource.stalled(at: .midBody)),
        // Over TLS alone.
        ("/record-truncated", resource.fault(.record(.truncated), at: .midBody)),
        ("/record-ended", resource.fault(.record(.closeNotify), at: .midBody)),
        ("/record-length", resource.fault(.record(.wrongLength(20_000)), at: .midBody)),
        ("/record-flipped", resource.fault(.record(.flippedBit), at: .midBody)),
        ("/record-stalled", resource.fault(.record(.stalled(until: nil)), at: .midBody)),
        ("/silent", resource.stalled(at: .beforeHead)),
        ("/closing", .text(text).closingConnection(announced: false)),
        ("/garbage", .raw("HTTP/1.1 two hundred\r\n\r\n")),
        ("/bad-chunk", .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n")),
        ("/not-found", .text("nothing here").status(404)),
        ("/moved", .redirect(307, to: "/large")),
        ("/moved-often", .redirect(302, to: "/moved")),
        ("/moved-forever", .redirect(302, to: "/moved-forever")),
        ("/private", .computed(letIn)),
        ("/cookies", .text(text).field("Set-Cookie", "a=1; Path=/").field("Set-Cookie", "b=2; Max-Age=1")),
        ("/cacheable", .text(text).field("Cache-Control", "max-age=60").entityTag("\"c1\"")),
        ("/stale", .text(text).field("Cache-Control", "max-age=0").entityTag("\"c2\"")),
        ("/early", resource.interim(103, fields: ["Link": "</style>"])),
        ("/echo", .echo),
        ("/refusing", .text("no").status(413).beforeBody()),
        ("/ws", .webSocket(.echo.compression())),
        ("/ws-talking", .webSocket(.echo.text("one").ping(Data("p".utf8)).data(content.bytes(0..<50_000)).text("two"))),
        ("/ws-closing", .webSocket(.listening.text("one").receive(1).close(1001, reason: "enough"))),
        ("/ws-cut", .webSocket(.listening.text("one").receive(1).cut())),
        ("/ws-reset", .webSocket(.listening.receive(1).reset())),
        ("/stream", .stream()),
        ("/stream-talking", .stream(.listening.send(content).finish(), status: 200)),
        ("/stream-reset", .stream(.echo.send(text).receive(100).reset())),
    ]

    /// Asks for a user and a password.
    @Sendable private static func letIn(_ request: ReceivedRequest) -> Reply {
        let door = "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
        guard request.fields["Authorization"] == door else {
            return .text("who?").status(401).field("WWW-Authenticate", "Basic realm=\"club\"")
        }
        return resource
    }
}
