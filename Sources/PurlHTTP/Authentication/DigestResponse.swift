/// Answers a digest challenge, for as many requests as the server takes the nonce (RFC 7616 §3.4).
package struct DigestResponse: Sendable {
    /// What is answered.
    package private(set) var challenge: DigestChallenge
    /// How many requests have been answered with this nonce.
    package private(set) var nonceCount: UInt32 = 0

    private let user: String
    private let password: String
    /// The client's nonce that a session began with. It is used for the whole session: then it does not matter
    /// whether the server computes the session's secret once or for every request.
    private var sessionNonce: String?

    package init(_ challenge: DigestChallenge, user: String, password: String) {
        self.challenge = challenge
        self.user = user
        self.password = password
    }

    /// The value of `Authorization` or `Proxy-Authorization` for one request, and counts it. `uri` is the request
    /// target as it goes on the wire; `clientNonce` is fresh and hard to guess.
    package mutating func authorization(method: RequestMethod, uri: String, clientNonce: String) -> String {
        nonceCount &+= 1
        var clientNonce = clientNonce
        if algorithm.isSession {
            clientNonce = sessionNonce ?? clientNonce
            sessionNonce = clientNonce
        }
        let count = String(nonceCount, radix: 16)
        let paddedCount = String(repeating: "0", count: 8 - count.utf8.count) + count

        var parts = [userPart, quoted("realm", challenge.realm), quoted("nonce", challenge.nonce), quoted("uri", uri)]
        if let named = challenge.algorithm { parts.append("algorithm=\(named.name)") }
        parts.append(quoted("response", proof(method, uri, clientNonce, paddedCount)))
        if let opaque = challenge.opaque { parts.append(quoted("opaque", opaque)) }
        if challenge.offersAuth { parts += ["qop=auth", "nc=\(paddedCount)"] }
        if challenge.offersAuth || algorithm.isSession { parts.append(quoted("cnonce", clientNonce)) }
        if challenge.hidesUser { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    /// The server has named the nonce for the next request: `nextnonce` of `Authentication-Info` (RFC 7616 §3.5).
    package mutating func use(nextNonce: String) {
        challenge.nonce = nextNonce
        nonceCount = 0
        sessionNonce = nil
    }

    private var algorithm: DigestAlgorithm { challenge.algorithm ?? .md5 }

    /// RFC 7616 §3.4.1 to §3.4.3.
    private func proof(_ method: RequestMethod, _ uri: String, _ clientNonce: String, _ count: String) -> String {
        var secret = algorithm.hash("\(user):\(challenge.realm):\(password)")
        if algorithm.isSession { secret = algorithm.hash("\(secret):\(challenge.nonce):\(clientNonce)") }
        let request = algorithm.hash("\(method):\(uri)")
        guard challenge.offersAuth else {
            return algorithm.hash("\(secret):\(challenge.nonce):\(request)")
        }
        return algorithm.hash("\(secret):\(challenge.nonce):\(count):\(clientNonce):auth:\(request)")
    }

    private var userPart: String {
        if challenge.hidesUser { return quoted("username", algorithm.hash("\(user):\(challenge.realm)")) }
        // RFC 7616 §3.4: a name that a quoted string cannot hold goes into an extended parameter.
        guard user.utf8.allSatisfy({ $0 < 0x80 }) || !challenge.isUTF8 else {
            return "username*=\(ExtendedValue(text: user))"
        }
        return quoted("username", user)
    }

    /// Quoted even if it is a token: old servers look for the quotes. Controls, which no field may hold, are left out.
    private func quoted(_ name: String, _ value: String) -> String {
        var text = Array("\(name)=\"".utf8)
        for byte in value.utf8 where byte.isFieldValueByte {
            if byte == .quote || byte == .backslash { text.append(.backslash) }
            text.append(byte)
        }
        text.append(.quote)
        return String(decoding: text, as: UTF8.self)
    }
}
