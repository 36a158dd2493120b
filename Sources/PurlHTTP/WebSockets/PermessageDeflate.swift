/// The compression that both ends have agreed on (RFC 7692 §7).
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

/// One of a client's offers of permessage-deflate (RFC 7692 §7.1).
package struct PermessageDeflateOffer: Sendable, Hashable {
    /// What the client offers about its own window.
    package enum ClientWindow: Sendable, Hashable {
        /// The client does not support the parameter: the server must not request fewer than 15 bits.
        case unknown
        /// The server may request fewer bits.
        case any
        /// The client uses no more than this many bits.
        case bits(Int)
    }

    package var serverNoContextTakeover = false
    package var clientNoContextTakeover = false
    /// nil: the server chooses.
    package var serverMaxWindowBits: Int?
    package var clientMaxWindowBits = ClientWindow.unknown

    /// What Purl offers unless the user sets `Sec-WebSocket-Extensions`.
    package static let standard = PermessageDeflateOffer(clientMaxWindowBits: .any)

    package init(
        serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false, serverMaxWindowBits: Int? = nil,
        clientMaxWindowBits: ClientWindow = .unknown
    ) {
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverMaxWindowBits = serverMaxWindowBits
        self.clientMaxWindowBits = clientMaxWindowBits
    }

    /// Reads an offer; nil when it is for another extension, or breaks a rule of RFC 7692 §7.1: an unknown or repeated
    /// parameter, a value where there must be none or that is not a number from 8 to 15.
    package init?(_ offered: WebSocketExtension) {
        guard offered.name == PermessageDeflate.name, offered.hasDistinctParameters else { return nil }
        self.init()
        for parameter in offered.parameters {
            switch (parameter.name, parameter.value) {
            case ("server_no_context_takeover", nil): serverNoContextTakeover = true
            case ("client_no_context_takeover", nil): clientNoContextTakeover = true
            case ("client_max_window_bits", nil): clientMaxWindowBits = .any
            case ("client_max_window_bits", let value?):
                guard let bits = WebSocketExtension.windowBits(value) else { return nil }
                clientMaxWindowBits = .bits(bits)
            case ("server_max_window_bits", let value?):
                guard let bits = WebSocketExtension.windowBits(value) else { return nil }
                serverMaxWindowBits = bits
            default: return nil
            }
        }
    }

    /// As it goes on the wire.
    package var description: String {
        var parts = [PermessageDeflate.name]
        if serverNoContextTakeover { parts.append("server_no_context_takeover") }
        if clientNoContextTakeover { parts.append("client_no_context_takeover") }
        if let serverMaxWindowBits { parts.append("server_max_window_bits=\(serverMaxWindowBits)") }
        switch clientMaxWindowBits {
        case .unknown: break
        case .any: parts.append("client_max_window_bits")
        case .bits(let bits): parts.append("client_max_window_bits=\(bits)")
        }
        return parts.joined(separator: "; ")
    }

    // MARK: The client's side

    /// What both sides have agreed on by this offer and the server's response; nil when the response does not match the
    /// offer (RFC 7692 §7.1.1 to §7.1.2.2).
    package func agreement(with response: WebSocketExtension) -> PermessageDeflate? {
        guard response.name == PermessageDeflate.name, response.hasDistinctParameters else { return nil }
        // §7.1.1.2: the client's own parameters hold whether or not the response repeats them.
        var agreed = PermessageDeflate(clientNoContextTakeover: clientNoContextTakeover)
        if case .bits(let bits) = clientMaxWindowBits { agreed.clientMaxWindowBits = bits }
        for parameter in response.parameters {
            switch (parameter.name, parameter.value) {
            case ("server_no_context_takeover", nil): agreed.serverNoContextTakeover = true
            case ("client_no_context_takeover", nil): agreed.clientNoContextTakeover = true
            case ("server_max_window_bits", let value?):
                guard let bits = WebSocketExtension.windowBits(value) else { return nil }
                agreed.serverMaxWindowBits = bits
            case ("client_max_window_bits", let value?):
                // §7.1.2.2: only where it was offered.
                guard let bits = WebSocketExtension.windowBits(value), clientMaxWindowBits != .unknown,
                    bits <= agreed.clientMaxWindowBits
                else { return nil }
                agreed.clientMaxWindowBits = bits
            default: return nil
            }
        }
        // §7.1.1.1 and §7.1.2.1: the server must have agreed to the parameters that the offer requests of it.
        guard agreed.serverNoContextTakeover || !serverNoContextTakeover,
            agreed.serverMaxWindowBits <= serverMaxWindowBits ?? 15
        else { return nil }
        return agreed
    }

    // MARK: The server's side

    /// What a server with these preferences agrees to, and the value of its `Sec-WebSocket-Extensions`.
    package func accept(_ preferences: PermessageDeflate) -> (agreed: PermessageDeflate, response: String) {
        var agreed = preferences
        var response = PermessageDeflateOffer()
        agreed.serverNoContextTakeover = preferences.serverNoContextTakeover || serverNoContextTakeover
        response.serverNoContextTakeover = agreed.serverNoContextTakeover
        agreed.clientNoContextTakeover = preferences.clientNoContextTakeover || clientNoContextTakeover
        response.clientNoContextTakeover = agreed.clientNoContextTakeover
        agreed.serverMaxWindowBits = min(preferences.serverMaxWindowBits, serverMaxWindowBits ?? 15)
        if serverMaxWindowBits != nil || agreed.serverMaxWindowBits < 15 {
            response.serverMaxWindowBits = agreed.serverMaxWindowBits
        }
        switch clientMaxWindowBits {
        case .unknown: agreed.clientMaxWindowBits = 15
        case .any: break
        case .bits(let bits): agreed.clientMaxWindowBits = min(preferences.clientMaxWindowBits, bits)
        }
        if clientMaxWindowBits != .unknown, agreed.clientMaxWindowBits < 15 {
            response.clientMaxWindowBits = .bits(agreed.clientMaxWindowBits)
        }
        return (agreed, response.description)
    }
}

/// One element of `Sec-WebSocket-Extensions` (RFC 6455 §9.1): `name; parameter; parameter=value`.
package struct WebSocketExtension: Sendable, Hashable {
    /// A parameter; its value is nil when it has none.
    package struct Parameter: Sendable, Hashable {
        package let name: String
        package let value: String?
    }

    package let name: String
    package let parameters: [Parameter]

    /// Reads one element; nil when the text breaks the grammar.
    package init?(_ text: String) {
        var parts = Array(text.utf8).split(separator: .semicolon, omittingEmptySubsequences: false)[...]
        guard let first = parts.popFirst() else { return nil }
        let name = String(fieldBytes: first.trimmingBlanks())
        guard name.isToken else { return nil }
        var parameters: [Parameter] = []
        for part in parts {
            let sides = part.split(separator: .equals, maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(fieldBytes: sides[0].trimmingBlanks())
            guard name.isToken else { return nil }
            guard sides.count == 2 else {
                parameters.append(Parameter(name: name, value: nil))
                continue
            }
            guard let value = WebSocketExtension.value(sides[1].trimmingBlanks()) else { return nil }
            parameters.append(Parameter(name: name, value: value))
        }
        self.name = name
        self.parameters = parameters
    }

    /// All elements of the fields; nil when one of them breaks the grammar.
    package static func all(in fields: HeaderFields) -> [WebSocketExtension]? {
        let elements = fields.listElements(of: .secWebSocketExtensions)
        let extensions = elements.compactMap { WebSocketExtension($0) }
        return extensions.count == elements.count ? extensions : nil
    }

    /// Whether no parameter is repeated.
    var hasDistinctParameters: Bool { Set(parameters.map { $0.name }).count == parameters.count }

    /// A number from 8 to 15 without leading zeros (RFC 7692 §7.1.2).
    static func windowBits(_ text: String) -> Int? {
        switch text {
        case "8": 8
        case "9": 9
        case "10": 10
        case "11": 11
        case "12": 12
        case "13": 13
        case "14": 14
        case "15": 15
        default: nil
        }
    }

    /// A value is a token, even where it is quoted.
    private static func value(_ bytes: ArraySlice<UInt8>) -> String? {
        let isQuoted = bytes.count >= 2 && bytes.first == .quote && bytes.last == .quote
        let text = String(fieldBytes: isQuoted ? bytes.dropFirst().dropLast() : bytes)
        return text.isToken ? text : nil
    }
}
