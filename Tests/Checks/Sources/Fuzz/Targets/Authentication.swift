import PurlHTTP

extension FuzzTarget {
    /// Challenges, and the answers to them: an answer is one field that is read as it was meant.
    static let challenges = FuzzTarget("challenges") { bytes in
        var choices = Choices(bytes)
        let user = choices.line()
        let password = choices.line()
        var fields = HeaderFields()
        while !choices.isEmpty, fields.count < 50 {
            fields.append(.wwwAuthenticate, FieldText.value(choices.lineBytes()))
        }
        let challenges = Challenge.all(in: fields, .wwwAuthenticate)
        require(challenges.count <= Challenge.maximumCount, "no more are read than are looked at")
        for challenge in challenges {
            require(!challenge.scheme.isEmpty, "a challenge has a scheme")
            require(challenge.token68 == nil || challenge.parameters.isEmpty, "it is a token or parameters")
        }
        if let basic = BasicCredentials(user: user, password: password) {
            Answers.requireOneField(basic.authorization)
            requireSame(
                Base64.decode(Array(basic.authorization.utf8.dropFirst(6))), Array("\(user):\(password)".utf8),
                "user and password arrive")
        }
        guard let digest = DigestChallenge.first(in: challenges) else { return }
        var response = DigestResponse(digest, user: user, password: password)
        for count in 1...2 {
            let answer = response.authorization(
                method: "GET", uri: "/a?b=c", clientNonce: "0123456789abcdef", nonceCount: UInt32(count))
            Answers.requireOneField(answer)
            var sent = HeaderFields()
            sent.append(.authorization, answer)
            let read = Challenge.all(in: sent, .authorization)
            requireSame(read.count, 1, "an answer is one element")
            requireSame(read.first?.realm, FieldText.plain(digest.realm), "the realm goes back as it came")
            requireSame(read.first?.parameter("nonce"), FieldText.plain(digest.nonce), "so does the nonce")
            requireSame(read.first?.parameter("opaque"), digest.opaque.map(FieldText.plain), "so does what is opaque")
            if digest.offersAuth { requireSame(read.first?.parameter("nc"), "0000000\(count)", "requests are counted") }
        }
        let next = AuthenticationInfo(fields, .wwwAuthenticate).nextNonce ?? "n"
        response.use(nextNonce: next)
        requireSame(response.challenge.nonce, next, "a new nonce is used")
    }
}

private enum Answers {
    static func requireOneField(_ text: String) {
        requireSame(FieldText.plain(text), text, "an answer breaks no field")
        requireSame(FieldText.value(Array(text.utf8)), text, "nor has it blanks at its ends")
    }
}
