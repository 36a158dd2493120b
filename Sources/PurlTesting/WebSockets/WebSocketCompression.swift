internal import PurlHTTP

/// What a server wants of compression (permessage-deflate, RFC 7692), where the client offers it.
public struct WebSocketCompression: Sendable, Hashable {
    /// Each message of the server is compressed by itself.
    public var serverNoContextTakeover: Bool
    /// The client is told to compress each message by itself.
    public var clientNoContextTakeover: Bool
    /// How far back the server's messages refer: 2 to the power of this many bytes, 8 to 15.
    public var serverMaxWindowBits: Int
    /// The same for the client's, where it has said that it can be told.
    public var clientMaxWindowBits: Int

    /// Compression as good as it can be, or with less memory.
    public init(
        serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false, serverMaxWindowBits: Int = 15,
        clientMaxWindowBits: Int = 15
    ) {
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverMaxWindowBits = min(max(serverMaxWindowBits, 8), 15)
        self.clientMaxWindowBits = min(max(clientMaxWindowBits, 8), 15)
    }

    var wishes: PermessageDeflate {
        PermessageDeflate(
            serverNoContextTakeover: serverNoContextTakeover, clientNoContextTakeover: clientNoContextTakeover,
            serverMaxWindowBits: serverMaxWindowBits, clientMaxWindowBits: clientMaxWindowBits)
    }
}
