internal import Foundation
internal import Purl
internal import PurlIO
internal import PurlTesting

/// What carries the bytes between the client and the server.
package enum Medium: String, Sendable {
    /// Sockets of the loopback interface.
    case tcp
    /// Connections of a simulation's network, under its clock and on its thread.
    case memory
    /// Those, under the simulation's feigned security layer: `https`, and streams that are secure from the start.
    case secure
    /// Transports of the program's own, within the process, under TLS by the system's OpenSSL on both sides.
    case tls

    var transport: LoopbackServer.Transport {
        switch self {
        case .tcp: .ipv4
        case .memory, .secure, .tls: .memory
        }
    }

    /// Whether everything happens in a simulation.
    var isSimulated: Bool { self == .memory || self == .secure }

    /// Whether streams are secure from the start.
    var isSecure: Bool { self == .secure || self == .tls }

    /// Whether everything that happens is recorded.
    var isTraced: Bool { self != .tcp }

    var scheme: String {
        switch self {
        case .tcp, .memory: "http"
        case .secure, .tls: "https"
        }
    }
}

extension Medium: CaseIterable {
    /// Those that this machine has.
    package static var allCases: [Medium] {
        [.tcp, .memory, .secure] + (TestAuthority.isAvailable ? [.tls] : [])
    }
}

/// Connects to a stage's server in memory, and to nothing else. Hosts with a name have the addresses that the cell wants.
struct StageConnector: Connector {
    let server: @Sendable () -> any Connector
    /// The server's, which stands for one that listens on 127.0.0.1.
    let port: UInt16
    let names: ScriptedNames

    func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport {
        let addresses = request.host == Stage.hostName ? try await addresses(of: request) : [.loopback(port: port)]
        guard request.port == Int(port), addresses.contains(.loopback(port: port)) else {
            throw URLError(.cannotConnectToHost, userInfo: [NSUnderlyingErrorKey: POSIXError(.ECONNREFUSED)])
        }
        return try await server().connect(request)
    }

    private func addresses(of request: ConnectionRequest) async throws -> [SocketAddress] {
        let (answers, answer) = AsyncStream.makeStream(of: Result<[SocketAddress], ResolveError>.self)
        _ = names.resolve(request.host, port: port) { answer.yield($0) }
        // Ends without an answer when the connection is no longer wanted.
        for await result in answers {
            switch result {
            case .success(let addresses) where addresses.isEmpty: throw URLError(.cannotFindHost)
            case .success(let addresses): return addresses
            case .failure(.noSuchName): throw URLError(.cannotFindHost)
            case .failure: throw URLError(.dnsLookupFailed)
            }
        }
        throw CancellationError()
    }
}
