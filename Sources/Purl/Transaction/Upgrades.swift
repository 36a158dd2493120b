import Foundation
internal import PurlHTTP
internal import PurlIO

/// A WebSocket connection as a part of its transfer: what its conversation reports, and how it ends.
@NetworkActor
final class WebSocketUpgrade {
    private let transfer: Transfer

    init(_ transfer: Transfer) {
        self.transfer = transfer
    }

    var pool: ConnectionPool { transfer.session.pool }
    var failingURL: URL? { transfer.request.url }
    /// How long a server has for its close frame.
    var closingLimit: Duration { Deadlines.duration(transfer.deadlines.progressLimit(of: transfer.request)) }

    func didReceive(_ count: Int) {
        transfer.calls.currentMetrics?.addContentBytes(count)
        transfer.calls.task.updateCounts { $0.received += Int64(count) }
    }

    func didSend(_ count: Int64) {
        transfer.calls.task.updateCounts { $0.sent += count }
    }

    /// The closing handshake is over.
    ///
    /// - Parameter close: What the server's close frame carries; `nil` when it has sent none.
    func didClose(_ close: WebSocketClose?) {
        if let close {
            let reason = close.reason.isEmpty ? nil : Data(close.reason)
            webSocketTask?.setClose(close.code.map { Int($0) } ?? 1005, reason: reason)
            transfer.calls.callWebSocketDelegate {
                $0.urlSession($1, webSocketTask: $2, didCloseWith: $2.closeCode, reason: $2.closeReason)
            }
        }
        transfer.conversationDidEnd()
    }

    func didFail(_ failure: WebSocketFailure, status: Int) {
        webSocketTask?.setClose(status, reason: nil)
        transfer.fail(.webSocket(failure))
    }

    private var webSocketTask: URLSessionWebSocketTask? { transfer.calls.task as? URLSessionWebSocketTask }
}

/// A stream as a part of its transfer: what its conversation reports, and how it ends.
@NetworkActor
final class StreamUpgrade {
    private let transfer: Transfer

    init(_ transfer: Transfer) {
        self.transfer = transfer
    }

    var pool: ConnectionPool { transfer.session.pool }
    var failingURL: URL? { transfer.request.url }

    func didReceive(_ count: Int) {
        transfer.calls.currentMetrics?.addStreamBytesReceived(count)
        transfer.calls.task.updateCounts { $0.received += Int64(count) }
    }

    func didSend(_ count: Int) {
        transfer.calls.currentMetrics?.addStreamBytesSent(count)
        transfer.calls.task.updateCounts { $0.sent += Int64(count) }
    }

    func didCloseReading() {
        transfer.calls.callStreamDelegate { $0.urlSession($1, readClosedFor: $2) }
    }

    func didCloseWriting() {
        transfer.calls.callStreamDelegate { $0.urlSession($1, writeClosedFor: $2) }
    }

    /// Both directions are closed.
    func didEnd() {
        transfer.conversationDidEnd()
    }

    func didFail(_ failure: StreamFailure) {
        transfer.fail(.stream(failure))
    }

    /// The connection is the delegate's from now on.
    ///
    /// - Parameter bytes: What has arrived and was not read.
    func didCapture(_ socket: StreamSocket, after bytes: [UInt8], isReadClosed: Bool) {
        do throws(SystemError) {
            transfer.conclude(capturing: try socket.detach(), after: bytes, isReadClosed: isReadClosed)
        } catch {
            didFail(.lost(error))
        }
    }
}

/// A way through a proxy to a server, for bytes that the proxy does not read (RFC 9110 §9.3.6).
enum Tunnel {
    /// The head that asks a proxy for a tunnel; `nil` where the server cannot be named to a proxy.
    ///
    /// - Parameter composed: The head of the request that will go through it.
    static func head(to endpoint: Endpoint, _ composed: RequestHead) -> RequestHead? {
        guard case .host(let host, let port) = endpoint else { return nil }
        let authority = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        var head = RequestHead(method: .connect, target: authority, fields: [.host: authority])
        for name in [FieldName.userAgent, .proxyAuthorization] {
            if let value = composed.fields[name] { head.fields.append(name, value) }
        }
        return head
    }
}
