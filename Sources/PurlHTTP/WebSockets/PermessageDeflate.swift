/// Compression as both ends have agreed on it (RFC 7692 §7).
package struct PermessageDeflate: Sendable, Hashable {
    /// The extension's name.
    static let name = "permessage-deflate"

    /// Each message of the server is compressed by itself.
    package var serverNoContextTakeover: Bool
    /// Each message of the client is compressed by itself.
    package var clientNoContextTakeover: Bool
    /// The server refers no further back than 2 to the power of this; 8 to 15.
    package var serverMaxWindowBits: Int
    /// The same for the client.
    package var clientMaxWindowBits: Int

    package init(
        serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false, serverMaxWindowBits: Int = 15,
        clientMaxWindowBits: Int = 15
    ) {
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverMaxWindowBits = serverMaxWindowBits
        self.clientMaxWindowBits = clientMaxWindowBits
    }

    /// How far back this end may refer.
    func windowBits(of role: WebSocketRole) -> Int {
        switch role {
        case .client: clientMaxWindowBits
        case .server: serverMaxWindowBits
        }
    }

    /// Whether this end's messages may refer to its earlier ones.
    func keepsWindow(of role: WebSocketRole) -> Bool {
        switch role {
        case .client: !clientNoContextTakeover
        case .server: !serverNoContextTakeover
        }
    }

    /// Whether what this end receives may refer to earlier messages.
    func peerKeepsWindow(of role: WebSocketRole) -> Bool {
        switch role {
        case .client: keepsWindow(of: .server)
        case .server: keepsWindow(of: .client)
        }
    }
}
