import PurlHTTP

extension FuzzTarget {
    /// The rules of RFC 9111 for a stored response and a request: they answer whatever the clocks say, and never with
    /// what may not be used.
    static let cacheRules = FuzzTarget("cache-rules") { bytes in
        var choices = Choices(bytes)
        let (requestTime, responseTime, now) = (choices.integer(), choices.integer(), choices.integer())
        let status = choices.one(of: [200, 203, 204, 206, 300, 301, 304, 308, 404, 405, 410, 414, 500, 501, 503, 599])
        var (requested, stored, asked, confirmed) = (HeaderFields(), HeaderFields(), HeaderFields(), HeaderFields())
        let names: [FieldName] = [
            .cacheControl, .vary, .age, .expires, .date, .lastModified, .etag, .pragma, FieldName("X"), .connection,
            .location, .contentLocation,
        ]
        while !choices.isEmpty, stored.count < 50 {
            let (place, name) = (choices.number(below: 4), choices.one(of: names))
            let value = FieldText.value(choices.lineBytes())
            switch place {
            case 0: requested.append(name, value)
            case 1: stored.append(name, value)
            case 2: asked.append(name, value)
            default: confirmed.append(name, value)
            }
        }
        let may = CacheStorage.mayStore(method: "GET", requestFields: requested, status: status, fields: stored)
        if may, CacheControl(stored).noStore { require(CacheControl(stored).mustUnderstand, "no-store is kept to") }
        _ = CacheStorage.invalidatedReferences(by: stored)
        let kept = CacheStorage.storedFields(of: stored)
        require(!kept.contains(.connection), "what speaks of the connection is not stored")
        requireSame(CacheStorage.storedFields(of: kept), kept, "what is stored can be stored again")

        let response = CachedResponse(
            requestFields: requested, status: status, fields: kept, requestTime: requestTime, responseTime: responseTime
        )
        require(response.freshnessLifetime >= 0, "a life is not negative")
        require(response.currentAge(at: now) >= 0, "an age is not negative")

        let control = CacheControl(kept)
        switch response.reuse(for: asked, at: now) {
        case .use(let age):
            require(!control.noCache && !CacheControl(request: asked).noCache, "no-cache is kept to")
            require(age >= 0, "an age is not negative")
            if !response.isFresh(at: now) { require(!control.mustRevalidate, "must-revalidate is kept to") }
        case .validate(let conditions):
            require(!conditions.isEmpty, "a question has a condition")
        case .forward, .unsatisfiable:
            break
        }
        if response.mayReplaceError(for: asked, at: now) { require(!control.noCache, "no-cache is kept to") }
        if response.isConfirmed(by: confirmed) {
            let updated = response.updated(by: confirmed, requestTime: requestTime, responseTime: responseTime)
            requireSame(updated.status, status, "the status stays")
        }
    }
}
