import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// A WebSocket connection as a part of its transfer: what its conversation reports, and how it ends.
@NetworkActor
final class WebSocketUpgrade: WebSocketConversationClient {
    private let transfer: Transfer

    init(_ transfer: Transfer) {
        self.transfer = transfer
    }

    /// How long a server has for its close frame, and the program for the messages before it.
    var closingLimit: Duration { Deadlines.duration(transfer.deadlines.progressLimit(of: transfer.request)) }

    func afterDelegateCalls(_ action: @escaping @Sendable @NetworkActor () -> Void) {
        transfer.session.queue.enqueue { NetworkActor.post(action) }
    }

    func webSocketDidReceive(_ count: Int) {
        transfer.calls.currentMetrics?.addContentBytes(count)
        transfer.calls.task.updateCounts { $0.received += Int64(count) }
    }

    func webSocketDidSend(_ count: Int64) {
        transfer.calls.task.updateCounts { $0.sent += count }
    }

    /// The closing handshake is over.
    ///
    /// - Parameter close: What the server's close frame carries; `nil` when it has sent none.
    func webSocketDidClose(_ close: WebSocketClose?) {
        if let close {
            let reason = close.reason.isEmpty ? nil : Data(close.reason)
            let code = close.code.map { Int($0) } ?? 1005
            webSocketTask?.setClose(code, reason: reason)
            transfer.calls.callWebSocketDelegate(.didCloseWith, .closed(code: code, reason: reason)) {
                $0.urlSession($1, webSocketTask: $2, didCloseWith: $2.closeCode, reason: $2.closeReason)
            }
        }
        transfer.conversationDidEnd()
    }

    func webSocketDidFail(_ failure: WebSocketFailure, status: Int) {
        webSocketTask?.setClose(status, reason: nil)
        transfer.fail(.webSocket(failure))
    }

    private var webSocketTask: URLSessionWebSocketTask? { transfer.calls.task as? URLSessionWebSocketTask }
}

/// A stream as a part of its transfer: what its conversation reports, and how it ends.
@NetworkActor
final class StreamUpgrade: StreamConversationClient {
    private let transfer: Transfer

    init(_ transfer: Transfer) {
        self.transfer = transfer
    }

    func streamDidReceive(_ count: Int) {
        transfer.calls.currentMetrics?.addStreamBytesReceived(count)
        transfer.calls.trace?.record(.streamReceived(count))
        transfer.calls.task.updateCounts { $0.received += Int64(count) }
    }

    func streamDidSend(_ count: Int) {
        transfer.calls.currentMetrics?.addStreamBytesSent(count)
        transfer.calls.trace?.record(.streamSent(count))
        transfer.calls.task.updateCounts { $0.sent += Int64(count) }
    }

    func streamDidCloseRead() {
        transfer.calls.callStreamDelegate(.readClosedFor) { $0.urlSession($1, readClosedFor: $2) }
    }

    func streamDidCloseWrite() {
        transfer.calls.callStreamDelegate(.writeClosedFor) { $0.urlSession($1, writeClosedFor: $2) }
    }

    /// Both directions are closed.
    func streamDidEnd() {
        transfer.conversationDidEnd()
    }

    func streamDidFail(_ failure: StreamFailure) {
        transfer.fail(.stream(failure))
    }

    func secureStream(
        _ transport: any LoopTransport, received bytes: [UInt8],
        completion: @escaping Securing.Completion
    ) -> Securing? {
        guard let tls = transfer.session.tls, let url = transfer.request.url, let origin = Origin(url) else {
            return nil
        }
        transfer.deadlines.markProgress()
        return Securing(
            transport, received: bytes, to: SecureServer(streamTo: origin.endpoint), with: tls, asking: transfer.calls
        ) { [transfer] result in
            if case .success(let security) = result {
                transfer.calls.currentMetrics?.setSecurity(security, isNew: true)
            }
            completion(result)
        }
    }

    /// The connection is the delegate's from now on.
    ///
    /// - Parameter bytes: What has arrived and was not read.
    func streamsCaptured(_ socket: StreamSocket, _ bytes: [UInt8], isReadClosed: Bool) {
        do throws(SystemError) {
            transfer.conclude(capturing: try socket.detach(), after: bytes, isReadClosed: isReadClosed)
        } catch {
            streamDidFail(.lost(error))
        }
    }
}
