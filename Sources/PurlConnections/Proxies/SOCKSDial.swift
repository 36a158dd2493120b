internal import PurlHTTP
package import PurlIO

/// Makes connections through a SOCKS proxy, to which another dialler connects.
package struct SOCKSDialler: Dialler {
    private let proxy: SOCKSProxy
    private let base: any Dialler

    package init(_ proxy: SOCKSProxy, over base: any Dialler) {
        self.proxy = proxy
        self.base = base
    }

    package func dial(
        _ endpoint: Endpoint, for purpose: DialPurpose,
        completion: @escaping @NetworkActor (Result<any LoopTransport, DialError>) -> Void
    ) -> any Dial {
        SOCKSDial(to: endpoint, through: proxy, base, purpose, completion)
    }
}

/// One connection through a SOCKS proxy: the proxy is connected to, and asked for one to the server.
@NetworkActor
private final class SOCKSDial: Dial, TransportHandler {
    /// Those of the dial to the proxy; connecting lasts until the proxy has connected to the server.
    private(set) var times = DialTimes()

    private let proxy: SOCKSProxy
    private let endpoint: Endpoint
    private var dial: (any Dial)?
    private var transport: (any LoopTransport)?
    private var handshake: SOCKSHandshake?
    /// How much of the handshake's output has been sent.
    private var sent = 0
    /// Part of what the handshake takes next.
    private var received: [UInt8] = []
    /// `nil` when the dial is over.
    private var completion: (@NetworkActor (Result<any LoopTransport, DialError>) -> Void)?
    /// The dial keeps itself alive until it is over: a transport holds its handler weakly.
    private var itself: SOCKSDial?

    init(
        to endpoint: Endpoint, through proxy: SOCKSProxy, _ dialler: any Dialler, _ purpose: DialPurpose,
        _ completion: @escaping @NetworkActor (Result<any LoopTransport, DialError>) -> Void
    ) {
        self.proxy = proxy
        self.endpoint = endpoint
        self.completion = completion
        let purpose = DialPurpose(scheme: "socks5", timeLimit: purpose.timeLimit)
        dial = dialler.dial(proxy.endpoint, for: purpose) { self.reachedProxy($0) }
        itself = self
    }

    func observe(_ observer: @escaping DialObserver) {
        dial?.observe(observer)
    }

    func cancel() {
        guard completion != nil else { return }
        dial?.cancel()
        takeTimes()
        transport?.close()
        stop()
    }

    private func reachedProxy(_ result: Result<any LoopTransport, DialError>) {
        takeTimes()
        switch result {
        case .failure(let error): finish(.failure(error))
        case .success(let transport):
            self.transport = transport
            do throws(SOCKSFailure) {
                handshake = try SOCKSHandshake(
                    to: try endpoint.destination(), port: endpoint.port, user: proxy.user, password: proxy.password)
                transport.handler = self
                send()
            } catch {
                fail(error)
            }
        }
    }

    private func takeTimes() {
        if let dial { times = dial.times }
        dial = nil
    }

    // MARK: The handshake

    func transportIsWritable(_ transport: any LoopTransport) { send() }

    func transportIsReadable(_ transport: any LoopTransport) { receive() }

    private func send() {
        guard let transport, let output = handshake?.output else { return }
        do throws(SystemError) {
            while sent < output.count {
                let count = try transport.send(output, sent..<output.count)
                guard count > 0 else {
                    transport.interest = .write
                    return
                }
                sent += count
            }
            sent = 0
            handshake?.clearOutput()
            transport.interest = .read
        } catch {
            fail(.ended)
        }
    }

    private func receive() {
        guard let transport, let needed = handshake?.needed else { return }
        do throws(SystemError) {
            // What follows the last reply is the server's.
            guard let bytes = try transport.receive(atMost: needed - received.count) else { return }
            guard !bytes.isEmpty else { return fail(.ended) }
            received += bytes
        } catch {
            return fail(.ended)
        }
        guard received.count == needed else { return }
        do throws(SOCKSFailure) {
            try handshake?.receive(received)
            received = []
            if handshake?.isDone == true { succeed() } else if handshake?.output.isEmpty == false { send() }
        } catch {
            fail(error)
        }
    }

    private func succeed() {
        guard let transport else { return }
        transport.interest = []
        transport.handler = nil
        times.connectEnd = EventLoop.shared.now
        finish(.success(transport))
    }

    private func fail(_ failure: SOCKSFailure) {
        transport?.close()
        let refused = ProxyDialFailure(kind: .socks, proxy: proxy.endpoint, server: endpoint, failure: failure)
        finish(.failure(refused.dialError))
    }

    private func finish(_ result: Result<any LoopTransport, DialError>) {
        let completion = completion
        stop()
        completion?(result)
    }

    private func stop() {
        completion = nil
        transport = nil
        handshake = nil
        itself = nil
    }
}

extension Endpoint {
    /// The server as the proxy is told of it: it looks up a name itself.
    fileprivate func destination() throws(SOCKSFailure) -> SOCKSHandshake.Destination {
        // A socket of this machine has no name there; no rule leads one to a proxy.
        guard case .host(let host, let port) = self else { throw .unsendableName }
        return SocketAddress(literal: host, port: port).map { .address($0.bytes) } ?? .name(host)
    }

    fileprivate var port: UInt16 {
        switch self {
        case .host(_, let port): port
        case .unix: 0
        }
    }
}
