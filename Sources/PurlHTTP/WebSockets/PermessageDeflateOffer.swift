/// What a client offers as permessage-deflate (RFC 7692 §7.1), one of perhaps several.
package struct PermessageDeflateOffer: Sendable, Hashable {
    /// What it says of its own window.
    package enum ClientWindow: Sendable, Hashable {
        /// It does not know the parameter: the server must not ask for less than 15.
        case unknown
        /// The server may ask for less.
        case any
        /// It will use no more than that.
        case bits(Int)
    }

    package var serverNoContextTakeover = false
    package var clientNoContextTakeover = false
    /// nil: as the server likes.
    package var serverMaxWindowBits: Int?
    package var clientMaxWindowBits = ClientWindow.unknown

    /// What this client offers by itself.
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

    /// Reads an offer; nil when it is for another extension, or breaks a rule of RFC 7692 §7.1: an unknown parameter, one
    /// that comes twice, a value where there must be none or that is no number from 8 to 15.
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

    /// What a server's answer makes of this offer; nil when it is no answer to it (RFC 7692 §7.1.1 to §7.1.2.2).
    package func agreement(answeredBy answer: WebSocketExtension) -> PermessageDeflate? {
        guard answer.name == PermessageDeflate.name, answer.hasDistinctParameters else { return nil }
        // §7.1.1.2: what the client said of itself holds whether or not the answer repeats it.
        var agreed = PermessageDeflate(clientNoContextTakeover: clientNoContextTakeover)
        if case .bits(let bits) = clientMaxWindowBits { agreed.clientMaxWindowBits = bits }
        for parameter in answer.parameters {
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
        // §7.1.1.1 and §7.1.2.1: what was asked of the server it must have agreed to.
        guard agreed.serverNoContextTakeover || !serverNoContextTakeover,
            agreed.serverMaxWindowBits <= serverMaxWindowBits ?? 15
        else { return nil }
        return agreed
    }

    // MARK: The server's side

    /// What a server with these wishes agrees to, and what it answers.
    package func accept(_ wishes: PermessageDeflate) -> (agreed: PermessageDeflate, answer: String) {
        var agreed = wishes
        var answer = PermessageDeflateOffer()
        agreed.serverNoContextTakeover = wishes.serverNoContextTakeover || serverNoContextTakeover
        answer.serverNoContextTakeover = agreed.serverNoContextTakeover
        agreed.clientNoContextTakeover = wishes.clientNoContextTakeover || clientNoContextTakeover
        answer.clientNoContextTakeover = agreed.clientNoContextTakeover
        agreed.serverMaxWindowBits = min(wishes.serverMaxWindowBits, serverMaxWindowBits ?? 15)
        if serverMaxWindowBits != nil || agreed.serverMaxWindowBits < 15 {
            answer.serverMaxWindowBits = agreed.serverMaxWindowBits
        }
        switch clientMaxWindowBits {
        case .unknown: agreed.clientMaxWindowBits = 15
        case .any: break
        case .bits(let bits): agreed.clientMaxWindowBits = min(wishes.clientMaxWindowBits, bits)
        }
        if clientMaxWindowBits != .unknown, agreed.clientMaxWindowBits < 15 {
            answer.clientMaxWindowBits = .bits(agreed.clientMaxWindowBits)
        }
        return (agreed, answer.description)
    }
}
