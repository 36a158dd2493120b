internal import PurlIO

/// A socket that nobody needs any more, for as long as it takes its last bytes to reach the other side.
///
/// Closed at once, a socket that has received something unread makes the system reset the connection, and the other side
/// may lose what it has not read yet. So the stream is ended, what comes is thrown away, and the socket is closed when the
/// other side has ended its stream, too (RFC 6455 §7.1.1), or after a moment.
@NetworkActor
final class LingeringSocket: TransportHandler {
    private static let limit = Duration.seconds(2)

    private let socket: StreamSocket
    private var rest: [UInt8]
    private var timer: LoopTimer?

    /// Takes over a socket, with bytes that are still to be sent.
    static func keep(_ socket: StreamSocket, sending rest: [UInt8]) {
        let lingering = LingeringSocket(socket, rest)
        // Until then the timer keeps it.
        lingering.timer = EventLoop.shared.schedule(after: limit) { lingering.close() }
        lingering.send()
    }

    private init(_ socket: StreamSocket, _ rest: [UInt8]) {
        self.socket = socket
        self.rest = rest
        socket.handler = self
    }

    private func close() {
        timer?.cancel()
        timer = nil
        socket.close()
    }

    private func send() {
        do throws(SystemError) {
            while !rest.isEmpty {
                let count = try socket.send(rest, rest.indices)
                guard count > 0 else {
                    socket.interest = [.read, .write]
                    return
                }
                rest.removeFirst(count)
            }
            socket.shutdownWrite()
            socket.interest = .read
        } catch {
            close()
        }
    }

    func transportIsReadable(_ transport: any Transport) {
        do throws(SystemError) {
            guard let bytes = try socket.receive() else { return }
            if bytes.isEmpty { close() }
        } catch {
            close()
        }
    }

    func transportIsWritable(_ transport: any Transport) {
        send()
    }
}
