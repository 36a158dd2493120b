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
        try await AwaitedDial(request, dialler).connected()
    }
}

/// A dial whose result a task awaits.
@NetworkActor
final class AwaitedDial {
    private let endpoint: Endpoint
    private let purpose: DialPurpose
    private let dialler: any Dialler
    private var dial: (any Dial)?
    private var continuation: CheckedContinuation<ConnectedTransport, any Error>?

    nonisolated init(_ request: ConnectionRequest, _ dialler: any Dialler) throws {
        endpoint = try request.endpoint
        purpose = DialPurpose(scheme: request.scheme, timeLimit: request.deadline.map { $0 - .now })
        self.dialler = dialler
    }

    /// Dials. What is connected is the caller's.
    func connected() async throws -> ConnectedTransport {
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
            resume(.success(ConnectedTransport(transport)))
        case .failure(let error):
            resume(.failure(TransferFailure.dial(error).urlError(for: nil)))
        }
    }

    private func resume(_ result: Result<ConnectedTransport, any Error>) {
        let continuation = continuation
        self.continuation = nil
        dial = nil
        continuation?.resume(with: result)
    }
}

extension ConnectionRequest {
    /// The host and port, or the local socket.
    var endpoint: Endpoint {
        get throws {
            if host.hasPrefix("/") { return .unix(path: host) }
            guard !host.isEmpty, let port = UInt16(exactly: port), port > 0 else {
                throw URLError(.badURL, reason: "“\(host)” and \(port) are not the host and the port of a server.")
            }
            return .host(host, port: port)
        }
    }
}
