import PurlHTTP
import PurlIO

/// The server's half of a connection. It reads requests, and writes down what was sent after each.
@NetworkActor
final class ScriptedConnection: StreamSocketHandler {
    private let socket: StreamSocket
    private unowned let server: ScriptedServer
    private var parser = RequestHeadParser()
    private var body = BodyDecoder(.none)
    private var isInBody = false
    private var unsent: ArraySlice<UInt8> = []
    private(set) var exchanges: [ScriptedServer.Exchange] = []

    init(_ socket: StreamSocket, of server: ScriptedServer) {
        self.socket = socket
        self.server = server
        socket.handler = self
        socket.interest = .read
    }

    var isOpen: Bool { socket.isOpen }
    /// The client does not take what was sent.
    var isBlocked: Bool { !unsent.isEmpty }

    func send(_ bytes: [UInt8]) {
        unsent += bytes
        flush()
    }

    /// Ends the connection in an orderly way.
    func close() {
        guard isOpen else { return }
        noteEnd()
        socket.close()
    }

    func shutdown() {
        noteEnd()
        socket.shutdownWrite()
    }

    func socketIsReadable(_ socket: StreamSocket) { receive() }

    func socketIsWritable(_ socket: StreamSocket) {
        flush()
        if !isBlocked { server.run() }
    }

    /// Takes everything that has come.
    func receive() {
        while isOpen {
            do {
                guard let count = try socket.receive(into: EventLoop.shared.scratch) else { return }
                guard count > 0 else { return socket.close() }
                take(Array(EventLoop.shared.scratch[..<count]))
            } catch {
                return socket.close()
            }
        }
    }

    private func flush() {
        while !unsent.isEmpty {
            let sent = unsent.withUnsafeBytes { try? socket.send($0) }
            guard let sent else { return socket.close() }
            if exchanges.isEmpty == false { exchanges[exchanges.count - 1].answer += unsent.prefix(sent) }
            unsent = unsent.dropFirst(sent)
            if sent == 0 { break }
        }
        socket.interest = unsent.isEmpty ? .read : [.read, .write]
    }

    private func noteEnd() {
        if unsent.isEmpty, !exchanges.isEmpty { exchanges[exchanges.count - 1].isEnded = true }
    }

    private func take(_ bytes: [UInt8]) {
        var offset = 0
        while offset < bytes.count || isInBody {
            do {
                if isInBody {
                    guard let event = try body.decode(bytes.span.bytes, from: &offset) else { return }
                    if case .end = event { isInBody = false }
                } else {
                    guard let head = try parser.parse(bytes.span.bytes, from: &offset) else { return }
                    body = BodyDecoder(try BodyFraming.ofRequest(head))
                    isInBody = true
                    exchanges.append(ScriptedServer.Exchange(number: server.received(on: self), request: head))
                }
            } catch {
                fail("the client sends requests only: \(error)")
            }
        }
    }
}
