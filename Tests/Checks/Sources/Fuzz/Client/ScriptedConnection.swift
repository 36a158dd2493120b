import Dispatch
import PurlHTTP
import PurlIO
import Synchronization

@testable import Purl

/// The server's half of a connection. It reads requests, and writes down what was sent after each; where the connection
/// is none of HTTP's, or no longer, it writes down whatever comes.
@NetworkActor
final class ScriptedConnection: TransportHandler {
    private let socket: StreamSocket
    private unowned let server: ScriptedServer
    private var parser = RequestHeadParser()
    private var body = BodyDecoder(.none)
    private var isInBody = false
    private var unsent: ArraySlice<UInt8> = []
    private(set) var exchanges: [ScriptedServer.Exchange] = []
    /// What was sent outside of HTTP.
    private var talk = Traffic()
    private var hasLeftHTTP: Bool

    init(_ socket: StreamSocket, of server: ScriptedServer, hasLeftHTTP: Bool) {
        self.socket = socket
        self.server = server
        self.hasLeftHTTP = hasLeftHTTP
        socket.handler = self
        socket.interest = .read
    }

    var isOpen: Bool { socket.isOpen }
    /// The client does not take what was sent.
    var isBlocked: Bool { !unsent.isEmpty }

    func send(_ portion: ServerScript.Portion) {
        let key = exchanges.last?.request.fields[.secWebSocketKey] ?? ""
        unsent += portion.filled(with: WebSocketHandshake.accept(key).utf8)
        flush()
    }

    /// Ends the connection in an orderly way.
    func close() {
        guard isOpen else { return }
        noteEnd()
        socket.close()
    }

    /// The same, but for what has come and was not read.
    func abandon() {
        talk.isAbandoned = true
        close()
    }

    func shutdown() {
        noteEnd()
        socket.shutdownWrite()
    }

    func transportIsReadable(_ transport: any LoopTransport) { receive() }

    func transportIsWritable(_ transport: any LoopTransport) {
        flush()
        if !isBlocked { server.run() }
    }

    /// Takes everything that has come.
    func receive() {
        while isOpen, !talk.hasReceivedEnd {
            do {
                guard let bytes = try socket.receive() else { return }
                guard !bytes.isEmpty else { return receiveEnd() }
                take(Array(bytes))
            } catch {
                return socket.close()
            }
        }
    }

    private func flush() {
        while !unsent.isEmpty {
            let sent = unsent.withUnsafeBytes { try? socket.send($0) }
            guard let sent else { return lose() }
            if exchanges.isEmpty {
                talk.greeting += unsent.prefix(sent)
            } else {
                exchanges[exchanges.count - 1].answer += unsent.prefix(sent)
            }
            unsent = unsent.dropFirst(sent)
            if sent == 0 { break }
        }
        updateInterest()
    }

    private func updateInterest() {
        var interest: TransportInterest = talk.hasReceivedEnd ? [] : .read
        if !unsent.isEmpty { interest.insert(.write) }
        socket.interest = interest
    }

    /// The client takes nothing more. The server still receives what it has sent before.
    private func lose() {
        unsent = []
        if isOutsideHTTP { receive() }
        socket.close()
    }

    /// A stream's other direction stays open; everything else is closed.
    private func receiveEnd() {
        guard isOutsideHTTP, exchanges.last?.request.fields.contains(.secWebSocketKey) != true else {
            return socket.close()
        }
        talk.hasReceivedEnd = true
        updateInterest()
        server.receivedBytes(on: self)
    }

    private func noteEnd() {
        if unsent.isEmpty { talk.isEnded = true }
        if unsent.isEmpty, !exchanges.isEmpty { exchanges[exchanges.count - 1].isEnded = true }
    }

    private func take(_ bytes: [UInt8]) {
        var offset = 0
        while offset < bytes.count || isInBody {
            if !isInBody, isOutsideHTTP {
                talk.received += bytes[offset...]
                return server.receivedBytes(on: self)
            }
            do {
                if isInBody {
                    guard let event = try body.decode(bytes.span.bytes, from: &offset) else { return }
                    if case .end = event { isInBody = false }
                } else {
                    guard let head = try parser.parse(bytes.span.bytes, from: &offset) else { return }
                    body = BodyDecoder(try BodyFraming.ofRequest(head))
                    isInBody = true
                    exchanges.append(ScriptedServer.Exchange(number: server.receivedRequest(on: self), request: head))
                }
            } catch {
                fail("the client sends requests only: \(error)")
            }
        }
    }

    /// Nothing is read as a request any more.
    private var isOutsideHTTP: Bool {
        if !hasLeftHTTP, let exchange = exchanges.last {
            hasLeftHTTP = server.becomesStream.load(ordering: .acquiring) || isSwitched(exchange)
        }
        return hasLeftHTTP
    }

    private func isSwitched(_ exchange: ScriptedServer.Exchange) -> Bool {
        let isTunnel = exchange.request.method == "CONNECT" && server.opening == .tunnel
        guard isTunnel || exchange.request.fields.contains(.upgrade), let status = Departure(exchange)?.head.status
        else { return false }
        return isTunnel ? status / 100 == 2 : status == 101
    }

    /// All that was sent.
    func traffic() -> Traffic {
        if isOutsideHTTP { receive() }
        talk.exchange = exchanges.last
        return talk
    }
}

/// What went over a connection that is none of HTTP's, or no longer.
struct Traffic: Sendable {
    /// The last one before the connection left HTTP.
    var exchange: ScriptedServer.Exchange?
    /// What was sent where no request came first.
    var greeting: [UInt8] = []
    /// What the client sent.
    var received: [UInt8] = []
    var hasReceivedEnd = false
    /// The server's side has ended, in an orderly way.
    var isEnded = false
    /// The server was gone without having read everything.
    var isAbandoned = false
}

/// Connects a session to one scripted server, whatever host a connection is for.
struct InProcessDialler: Dialler {
    let server: ScriptedServer

    func dial(
        _ endpoint: Endpoint, for purpose: DialPurpose,
        completion: @escaping @NetworkActor (Result<any LoopTransport, DialError>) -> Void
    ) -> any Dial {
        NetworkDial(connect: { server.connect() }, completion: completion)
    }
}

/// Runs a function on the network thread, and waits for its result.
func onNetworkThread<Value: Sendable>(_ body: @escaping @Sendable @NetworkActor () -> Value) -> Value {
    let result = Mutex<Value?>(nil)
    let done = DispatchSemaphore(value: 0)
    NetworkActor.post {
        let value = body()
        result.withLock { $0 = value }
        done.signal()
    }
    done.wait()
    guard let value = result.withLock({ $0 }) else { fail("the network thread answers") }
    return value
}
