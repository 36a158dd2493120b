import PurlHTTP

/// The values of fields.
enum FieldProbes {
    static func values(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        let kind = choices.number(below: 7)
        let text = Choices.fieldValue(choices.remainder())
        transcript.line("text", text)
        switch kind {
        case 0: transcript.line("tag", EntityTag(text).map { $0.description }.word)
        case 1: transcript.line("range", ContentRange(text).map { $0.description }.word)
        case 2:
            let ranges = ByteRangeSet(text)
            transcript.line("ranges", ranges.map { $0.description }.word)
            for length in [0, 1, 100, Int64.max] {
                for range in ranges?.resolve(against: length) ?? [] {
                    transcript.line("resolved", "\(length)", "\(range.lowerBound)", "\(range.upperBound)")
                }
            }
        case 3:
            let type = MediaType(text)
            transcript.line("type", type.map { $0.description }.word, (type?.charset).word)
        case 4:
            let disposition = ContentDisposition(text)
            transcript.line("disposition", disposition.map { $0.description }.word, (disposition?.filename).word)
            if let name = disposition?.filename {
                transcript.line("written", ContentDisposition(type: "attachment", filename: name).description)
            }
        case 5:
            transcript.line("extended", ExtendedValue(text).map { $0.text }.word, ExtendedValue(text: text).description)
        default:
            transcript.line("base64", Base64.encode(text.utf8))
            if let decoded = Base64.decode(Array(text.utf8)) { transcript.line("decoded", content: decoded) }
            if let digest = DigestField.sha256(in: text) { transcript.line("digest", content: digest) }
        }
        transcript.line("percent", text.percentDecoded.word)
        if let policy = StrictTransportSecurity(text) {
            transcript.line("transport", "\(policy.maxAge)", policy.includesSubdomains.word)
        }
    }

    static func lists(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        let names: [FieldName] = [
            .cacheControl, .vary, .connection, .contentEncoding, .acceptRanges, .keepAlive, .transferEncoding, .pragma,
        ]
        var fields = HeaderFields()
        while !choices.isEmpty, fields.count < 100 { fields.append(choices.one(of: names), choices.fieldValue()) }
        for name in names {
            for element in fields.listElements(of: name) {
                transcript.line("element", name.text, element, fields.hasToken(element, in: name).word)
            }
        }
        write(CacheControl(fields), to: &transcript)
        transcript.line("vary", VaryList(fields).allows(fields, after: HeaderFields()).word)
    }

    static func write(_ control: CacheControl, to transcript: inout Transcript) {
        for (name, seconds) in [
            ("max-age", control.maxAge), ("s-maxage", control.sharedMaxAge), ("min-fresh", control.minFresh),
            ("stale-if-error", control.staleIfError), ("stale-while-revalidate", control.staleWhileRevalidate),
        ] { transcript.line(name, seconds.word) }
        for (name, flag) in [
            ("no-cache", control.noCache), ("no-store", control.noStore), ("no-transform", control.noTransform),
            ("only-if-cached", control.onlyIfCached), ("must-revalidate", control.mustRevalidate),
            ("proxy-revalidate", control.proxyRevalidate), ("must-understand", control.mustUnderstand),
            ("private", control.isPrivate), ("public", control.isPublic), ("immutable", control.immutable),
        ] where flag { transcript.line(name) }
    }

    static func dates(_ bytes: [UInt8], _ transcript: inout Transcript) {
        let text = Choices.fieldValue(bytes)
        let now = HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT")
        for date in [HTTPDate(text), HTTPDate(text, now: now), CookieDate.read(text)] {
            transcript.line("date", (date?.secondsSinceEpoch).word, date.map { $0.description }.word)
        }
    }

    static func challenges(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        let (user, password) = (choices.line(), choices.line())
        var fields = HeaderFields()
        while !choices.isEmpty, fields.count < 50 { fields.append(.wwwAuthenticate, choices.fieldValue()) }
        let challenges = Challenge.all(in: fields, .wwwAuthenticate)
        for challenge in challenges {
            transcript.line("challenge", challenge.scheme, challenge.token68.word)
            for parameter in challenge.parameters { transcript.line("parameter", parameter.name, parameter.value) }
        }
        transcript.line("basic", BasicCredentials(user: user, password: password).map { $0.authorization }.word)
        guard let digest = DigestChallenge.first(in: challenges) else { return }
        var response = DigestResponse(digest, user: user, password: password)
        for count: UInt32 in 1...2 {
            transcript.line(
                "digest",
                response.authorization(
                    method: "GET", uri: "/a?b=c", clientNonce: "0123456789abcdef", nonceCount: count))
        }
        transcript.line("next", AuthenticationInfo(fields, .wwwAuthenticate).nextNonce.word)
    }

    static func cookies(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        _ = choices.byte()
        while !choices.isEmpty {
            let text = choices.line()
            for cookie in SetCookie.list(joined: text) { write(cookie, to: &transcript) }
            if let cookie = SetCookie(text) { write(cookie, to: &transcript) }
        }
    }

    private static func write(_ cookie: SetCookie, to transcript: inout Transcript) {
        let lifetime =
            switch cookie.lifetime {
            case .session: "session"
            case .seconds(let seconds): "\(seconds) s"
            case .until(let date): date.description
            }
        let host = CookieDomain.canonical(cookie.domain)
        transcript.line(
            "cookie", cookie.name, cookie.value, lifetime, cookie.domain, cookie.path.word, cookie.isSecure.word,
            cookie.isHTTPOnly.word, host, CookieDomain.isAddress(host).word, CookieDomain.coversSubdomains(host).word)
    }

    static func fileNames(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        let limit = 64 + Int(choices.byte())
        let text = String(decoding: choices.remainder(), as: UTF8.self)
        transcript.line("name", SafeFilename.make(from: text, maximumLength: limit).word)
        transcript.line("name", SafeFilename.make(from: text).word)
        transcript.line("disposition", (ContentDisposition(Choices.fieldValue(bytes))?.filename).word)
    }

    static func urls(_ bytes: [UInt8], _ transcript: inout Transcript) {
        transcript.line("hidden", URLPassword.hidden(in: String(decoding: bytes, as: UTF8.self)))
    }

    static func texts(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var validator = UTF8Validator()
        transcript.line("utf-8", validator.take(bytes.span.bytes).word, validator.isComplete.word)
    }
}
