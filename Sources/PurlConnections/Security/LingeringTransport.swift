package import PurlIO

/// A transport whose conversation is over, until its last bytes have reached the other side.
///
/// Closed at once, a socket that has received something unread makes the system reset the connection, and the other side
/// may lose what it has not read yet. So the stream is ended, what comes is discarded, and the transport is closed when
/// the other side has ended its stream, too (RFC 6455 §7.1.1), or after two seconds.
@NetworkActor
package final class LingeringTransport: TransportHandler {
    private static let limit = Duration.seconds(2)

    private let transport: any LoopTransport
    private var rest: [UInt8]
    private var timer: LoopTimer?

    /// Takes over a transport, with bytes that are still to be sent.
    package static func keep(_ transport: any LoopTransport, sending rest: [UInt8]) {
        let lingering = LingeringTransport(transport, rest)
        // Until then the timer keeps it.
        lingering.timer = EventLoop.shared.schedule(after: limit) { lingering.close() }
        lingering.send()
    }

    private init(_ transport: any LoopTransport, _ rest: [UInt8]) {
        self.transport = transport
        self.rest = rest
        transport.handler = self
    }

    private func close() {
        timer?.cancel()
        timer = nil
        transport.close()
    }

    private func send() {
        do throws(SystemError) {
            while !rest.isEmpty {
                let count = try transport.send(rest, rest.indices)
                guard count > 0 else {
                    transport.interest = [.read, .write]
                    return
                }
                rest.removeFirst(count)
            }
            transport.shutdownWrite()
            transport.interest = .read
        } catch {
            close()
        }
    }

    package func transportIsReadable(_ transport: any LoopTransport) {
        do throws(SystemError) {
            guard let bytes = try transport.receive() else { return }
            if bytes.isEmpty { close() }
        } catch {
            close()
        }
    }

    package func transportIsWritable(_ transport: any LoopTransport) {
        send()
    }
}
