/// The response to a digest challenge, for as many requests as the server accepts the nonce (RFC 7616 §3.4). How many have
/// used it is for the client to count: the nonce may be that of other responses, too.
package struct DigestResponse: Sendable {
    /// The challenge that this responds to.
    package private(set) var challenge: DigestChallenge

    private let user: String
    private let password: String
    /// The client's nonce that a session began with. It is used for the whole session: then it does not matter
    /// whether the server computes the session's key once or for each request.
    private var sessionNonce: String?

    package init(_ challenge: DigestChallenge, user: String, password: String) {
        self.challenge = challenge
        self.user = user
        self.password = password
    }

    /// The value of `Authorization` or `Proxy-Authorization` for one request. `uri` is the request target as it goes on the
    /// wire; `clientNonce` is fresh and hard to guess; `nonceCount` is the number of requests that have used the nonce, this
    /// one included.
    package mutating func authorization(
        method: RequestMethod, uri: String, clientNonce: String, nonceCount: UInt32
    ) -> String {
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

    /// Takes the server's nonce for the next request: `nextnonce` of `Authentication-Info` (RFC 7616 §3.5).
    package mutating func use(nextNonce: String) {
        challenge.nonce = nextNonce
        sessionNonce = nil
    }

    private var algorithm: DigestAlgorithm { challenge.algorithm ?? .md5 }

    /// RFC 7616 §3.4.1 to §3.4.3.
    private func proof(_ method: RequestMethod, _ uri: String, _ clientNonce: String, _ count: String) -> String {
        var key = algorithm.hash("\(user):\(challenge.realm):\(password)")
        if algorithm.isSession { key = algorithm.hash("\(key):\(challenge.nonce):\(clientNonce)") }
        let request = algorithm.hash("\(method):\(uri)")
        guard challenge.offersAuth else {
            return algorithm.hash("\(key):\(challenge.nonce):\(request)")
        }
        return algorithm.hash("\(key):\(challenge.nonce):\(count):\(clientNonce):auth:\(request)")
    }

    private var userPart: String {
        if challenge.hidesUser { return quoted("username", algorithm.hash("\(user):\(challenge.realm)")) }
        // RFC 7616 §3.4: a name that a quoted string cannot contain is sent as an extended parameter.
        guard user.utf8.allSatisfy({ $0 < 0x80 }) || !challenge.isUTF8 else {
            return "username*=\(ExtendedValue(text: user))"
        }
        return quoted("username", user)
    }

    /// Quoted even if it is a token: old servers expect the quotes.
    private func quoted(_ name: String, _ value: String) -> String { "\(name)=\(value.quotedString)" }
}

/// The parameters that a server adds to its response to an authenticated request (RFC 7615 §3).
package struct AuthenticationInfo: Sendable, Hashable {
    /// The nonce for the next request (RFC 7616 §3.5).
    package var nextNonce: String?

    /// Reads the fields of that name. Parts that are not parameters are skipped.
    package init(_ fields: HeaderFields, _ name: FieldName) {
        for line in fields.lines where fields.matches(line, name) {
            var scanner = ListScanner(line.value)
            while let range = scanner.next(in: fields.bytes) {
                guard let parameter = FieldParameter(element: fields.bytes[range]) else { continue }
                if parameter.name == "nextnonce", nextNonce == nil { nextNonce = parameter.value }
            }
        }
    }
}
