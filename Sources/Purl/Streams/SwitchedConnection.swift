internal import PurlHTTP
internal import PurlIO

/// A connection that speaks another protocol from here on, while nobody knows yet who wants it.
///
/// It is the source of a response without a body, whose end it tells when nothing holds it back. Then the connection
/// is closed, unless it has been given away.
@NetworkActor
final class SwitchedConnection: ResponseSource {
    private var socket: StreamSocket?
    private let surplus: [UInt8]
    private weak var client: (any ExchangeClient)?

    init(_ socket: StreamSocket, _ surplus: [UInt8], client: any ExchangeClient) {
        self.socket = socket
        self.surplus = surplus
        self.client = client
    }

    var isRemote: Bool { true }
    var isReused: Bool { false }
    var awaitsItsOwn: Bool { false }

    var isPaused = false {
        didSet { if oldValue { endUnlessPaused() } }
    }

    func endUnlessPaused() {
        guard !isPaused, socket != nil else { return }
        abandon()
        client?.exchangeDidFinish(self)
    }

    func abandon() {
        socket?.close()
        socket = nil
    }

    func surrender() -> (socket: StreamSocket, surplus: [UInt8])? {
        guard let socket else { return nil }
        self.socket = nil
        return (socket, surplus)
    }
}
