import Foundation
internal import PurlIO

/// Connects over the system's sockets, as a session without a connector does: looks the name up, tries the addresses one
/// after another (RFC 8305, Happy Eyeballs), and returns the descriptor of the first socket to connect.
///
/// A connector of your own asks it for a connection to another host, or speaks first over what it returns:
///
/// ```swift
/// struct ViaGateway: Connector {
///     let system = SystemConnector()
///
///     func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport {
///         let gateway = ConnectionRequest(
///             scheme: request.scheme, host: "gateway.example", port: 7000, deadline: request.deadline)
///         return try await system.connect(gateway)
///     }
/// }
/// ```
///
/// The socket does not block, and belongs to the caller: close it when something else fails before it is returned. A host
/// that begins with a slash is the path of a local socket. Errors are `URLError`s with the error of the system call
/// beneath.
public struct SystemConnector: Connector {
    private let dialler: NetworkDialler

    /// - Parameters:
    ///   - resolver: Looks up the addresses of hosts; `nil` for the system's resolver.
    ///   - prepareSocket: Sees each socket before it connects; see ``URLSessionConfiguration/prepareSocket``.
    public init(
        resolver: (any HostResolver)? = nil,
        prepareSocket: (@Sendable (_ descriptor: Int32, _ address: TransportAddress) async throws -> Void)? = nil
    ) {
        dialler = NetworkDialler(
            resolver: resolver.map { ProvidedResolver($0) } ?? SystemResolver.shared,
            sockets: SocketOptions(preparation: prepareSocket))
    }

    public func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport {
        let dial = try AwaitedDial(request, dialler)
        return .descriptor(try await dial.descriptor())
    }
}

/// A dial whose result a task awaits.
@NetworkActor
private final class AwaitedDial {
    private let endpoint: Endpoint
    private let purpose: DialPurpose
    private let dialler: NetworkDialler
    private var dial: (any Dial)?
    private var continuation: CheckedContinuation<Int32, any Error>?

    nonisolated init(_ request: ConnectionRequest, _ dialler: NetworkDialler) throws {
        if request.host.hasPrefix("/") {
            endpoint = .unix(path: request.host)
        } else {
            guard !request.host.isEmpty, let port = UInt16(exactly: request.port), port > 0 else {
                throw URLError(
                    .badURL, reason: "“\(request.host)” and \(request.port) are not the host and the port of a server.")
            }
            endpoint = .host(request.host, port: port)
        }
        purpose = DialPurpose(scheme: request.scheme)
        self.dialler = dialler
    }

    /// Dials. The descriptor is the caller's.
    func descriptor() async throws -> Int32 {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.continuation = continuation
                dial = dialler.dial(endpoint, for: purpose) { self.finish($0) }
            }
        } onCancel: {
            NetworkActor.post { self.cancel() }
        }
    }

    private func cancel() {
        dial?.cancel()
        resume(.failure(CancellationError()))
    }

    private func finish(_ result: Result<any LoopTransport, DialError>) {
        switch result {
        case .success(let transport):
            // A network dial connects sockets, and nothing has closed this one.
            let descriptor = transport.plainSocket?.releaseDescriptor()
            resume(descriptor.map { .success($0) } ?? .failure(URLError(.cannotConnectToHost)))
        case .failure(let error):
            resume(.failure(TransferFailure.dial(error).urlError(for: nil)))
        }
    }

    private func resume(_ result: Result<Int32, any Error>) {
        let continuation = continuation
        self.continuation = nil
        dial = nil
        continuation?.resume(with: result)
    }
}
