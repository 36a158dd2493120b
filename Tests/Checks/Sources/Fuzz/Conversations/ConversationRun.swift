import Foundation
import Synchronization

@testable import Purl

/// One session with a scripted server: a few conversations, one after another, and what must hold for each.
final class ConversationRun {
    private let plan: ConversationPlan
    private let server: ScriptedServer
    private let session: URLSession
    private let witness: Witness

    init(_ plan: ConversationPlan, _ script: ServerScript) {
        self.plan = plan
        let server = onNetworkThread { ScriptedServer(script) }
        self.server = server
        var values = URLSessionConfiguration.ephemeral.snapshot
        values.dialler = InProcessDialler(server: server)
        values.limits.bufferedBytesPerTask = plan.bufferLimit
        values.httpMaximumConnectionsPerHost = 1
        values.proxyVariables = [:]
        values.urlCache = nil
        if plan.usesProxy {
            values.proxyDictionary = ProxyDictionary([
                kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy: "http://u:p@proxy.example:3128",
            ])
        }
        witness = plan.isExpert ? ExpertWitness(Bell(), server) : Witness(Bell())
        session = URLSession(configuration: URLSessionConfiguration(values), delegate: witness, delegateQueue: nil)
    }

    func run() {
        for conversation in plan.conversations {
            begin(conversation)
            switch conversation.kind {
            case .webSocket: talkOverWebSocket(conversation)
            case .stream: talk(over: session.streamTask(withHostName: "example.com", port: 7), conversation)
            case .upgrade: upgrade(conversation)
            }
        }
        session.invalidateAndCancel()
        witness.bell.wait("a session ends") { witness.isInvalid }
        onNetworkThread { [server] in server.end() }
    }

    // MARK: The server's side

    private var before = (requests: 0, connections: 0)

    private func begin(_ conversation: ConversationPlan.Conversation) {
        let opening: ScriptedServer.Opening =
            conversation.kind != .stream ? .request : plan.usesProxy ? .tunnel : .connection
        before = onNetworkThread { [server] in
            server.opening = opening
            server.becomesStream.store(false, ordering: .releasing)
            return (server.requestCount, server.connectionCount)
        }
        (witness as? ExpertWitness)?.decide(conversation.disposition, isLate: conversation.decidesLate)
    }

    private var traffic: Traffic? {
        onNetworkThread { [server, before] in server.traffic(after: before.requests, before.connections) }
    }

    // MARK: Tasks

    private func start(_ task: URLSessionTask, _ conversation: ConversationPlan.Conversation) {
        task.resume()
        if conversation.isCancelled { task.cancel() }
    }

    private func request(_ scheme: String, _ conversation: ConversationPlan.Conversation) -> URLRequest {
        let user = conversation.hasUser ? "user:pass@" : ""
        return URLRequest(url: URL(string: "\(scheme)://\(user)example.com/a") ?? URL(fileURLWithPath: "/"))
    }

    private func talkOverWebSocket(_ conversation: ConversationPlan.Conversation) {
        var request = request("ws", conversation)
        request.setValue(conversation.extensions, forHTTPHeaderField: "Sec-WebSocket-Extensions")
        request.setValue("chat, news", forHTTPHeaderField: "Sec-WebSocket-Protocol")
        let task = session.webSocketTask(with: request)
        task.maximumMessageSize = conversation.maximumMessageSize
        start(task, conversation)
        var talk = WebSocketTalk(task, witness, isCancelled: conversation.isCancelled)
        talk.perform(conversation.acts, then: conversation.ending)
        WebSocketRules(talk, traffic).check()
    }

    private func talk(over task: URLSessionStreamTask, _ conversation: ConversationPlan.Conversation) {
        if task.state == .suspended { start(task, conversation) }
        var talk = StreamTalk(task, witness, isCancelled: conversation.isCancelled)
        talk.perform(conversation.acts, then: conversation.ending)
        StreamRules(talk, traffic).check()
    }

    /// A data task that asks for another protocol, and becomes a stream if its delegate wants that.
    private func upgrade(_ conversation: ConversationPlan.Conversation) {
        var request = request("http", conversation)
        request.setValue("raw", forHTTPHeaderField: "Upgrade")
        if conversation.hasBody {
            request.httpMethod = "POST"
            request.httpBody = Data(repeating: 0x61, count: 3000)
        }
        let task = session.dataTask(with: request)
        start(task, conversation)
        witness.bell.wait("a data task ends, or becomes a stream") { witness.account(of: task).isOver }
        let account = witness.account(of: task)
        if let successor = account.successor {
            require(conversation.disposition == .becomeStream, "a stream comes where one is wanted")
            return talk(over: successor, conversation)
        }
        if conversation.disposition == .cancel, account.hasResponse {
            require(account.error != nil, "a response that is not wanted is not a success")
        }
        guard account.error == nil, let exchange = traffic?.exchange else { return }
        if Departure(exchange)?.head.status == 101 {
            require(plan.isExpert && conversation.disposition == .allow, "a switch is a success where one is wanted")
            return requireSame(account.content.count, 0, "a switch has no content")
        }
        guard let expected = ExpectedResponse(exchange) else { fail("what is not whole is not a success") }
        if plan.isExpert { requireSame(account.content, Data(expected.content), "what arrives is what was sent") }
    }
}

extension FuzzTarget {
    /// WebSocket tasks, stream tasks, and data tasks that ask to leave HTTP, with a server that the input scripts:
    /// the first bytes are a ``ConversationPlan``, the rest is a ``ServerScript``. Each task ends exactly once, and so does
    /// each call; what is received is what was sent, in order, and what goes out is sound and what was asked for.
    static let conversations = FuzzTarget("conversations") { bytes in
        var choices = Choices(bytes)
        let plan = ConversationPlan(&choices)
        ConversationRun(plan, ServerScript(choices.remainder())).run()
    }
}
