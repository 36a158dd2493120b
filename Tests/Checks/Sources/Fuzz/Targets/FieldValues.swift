import PurlHTTP

extension FuzzTarget {
    /// Values that have a form of their own: read, written and read again they mean the same.
    static let fieldValues = FuzzTarget("field-values") { bytes in
        var choices = Choices(bytes)
        let kind = choices.number(below: 7)
        // What a head's parser lets through.
        let text = FieldText.value(choices.remainder())
        switch kind {
        case 0: FieldText.requireRoundTrip(text) { EntityTag($0) }
        case 1:
            FieldText.requireRoundTrip(text) { ContentRange($0) }
            if let range = ContentRange(text), let bounds = range.bounds, let length = range.completeLength {
                require(bounds.upperBound < length, "a range lies in what it is a range of")
            }
        case 2:
            FieldText.requireRoundTrip(text) { ByteRangeSet($0) }
            for length in [0, 1, 100, Int64.max] {
                for range in ByteRangeSet(text)?.resolve(against: length) ?? [] {
                    require(!range.isEmpty && range.lowerBound >= 0 && range.upperBound <= length, "it lies within")
                }
            }
        case 3:
            FieldText.requireRoundTrip(text) { MediaType($0) }
        case 4:
            FieldText.requireRoundTrip(text) { ContentDisposition($0) }
            if let name = ContentDisposition(text)?.filename {
                let written = ContentDisposition(type: "attachment", filename: name).description
                requireSame(ContentDisposition(written)?.filename, name, "a file name written is read")
            }
        case 5:
            FieldText.requireRoundTrip(text) { ExtendedValue($0) }
            requireSame(
                ExtendedValue(ExtendedValue(text: text).description)?.text, text, "every text can be written")
        default:
            let coded = Base64.encode(text.utf8)
            requireSame(Base64.decode(Array(coded.utf8)), Array(text.utf8), "base64 is undone")
            if let decoded = Base64.decode(Array(text.utf8)) {
                requireSame(Base64.encode(decoded), text, "bytes have one base64 only")
            }
            if let digest = DigestField.sha256(in: text) { requireSame(digest.count, 32, "a digest has 32 bytes") }
        }
    }

    /// Dates of heads and of cookies.
    static let dates = FuzzTarget("dates") { bytes in
        let text = FieldText.value(bytes)
        let now = HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT")
        for date in [HTTPDate(text), HTTPDate(text, now: now), CookieDate.read(text)] {
            guard let date else { continue }
            requireSame(HTTPDate(date.description), date, "a date written is read as the same")
            if date.isForCookies { requireSame(CookieDate.read(date.description), date, "cookies know it, too") }
        }
    }

    /// Fields whose values are lists: the lines of a head, taken apart.
    static let fieldLists = FuzzTarget("field-lists") { bytes in
        var choices = Choices(bytes)
        let names: [FieldName] = [
            .cacheControl, .vary, .connection, .contentEncoding, .acceptRanges, .keepAlive, .transferEncoding, .pragma,
        ]
        var fields = HeaderFields()
        while !choices.isEmpty, fields.count < 100 {
            fields.append(choices.one(of: names), FieldText.value(choices.lineBytes()))
        }
        for name in names {
            let elements = fields.listElements(of: name)
            // Joined to one line the list is the same, and so is each element alone.
            var joined = HeaderFields()
            if !elements.isEmpty { joined.append(name, elements.joined(separator: ", ")) }
            // A quote that is never closed reaches to the end of its line.
            if !elements.contains(where: { $0.utf8.contains(UInt8(ascii: "\"")) }) {
                requireSame(joined.listElements(of: name), elements, "one line or several, the list is the same")
            }
            for element in elements { require(fields.hasToken(element, in: name), "what is listed is found") }
        }
        let control = CacheControl(fields)
        for seconds in [
            control.maxAge, control.sharedMaxAge, control.minFresh, control.staleIfError, control.staleWhileRevalidate,
        ] {
            guard let seconds else { continue }
            require((0...CacheControl.maximumSeconds).contains(seconds), "seconds stay within their limit")
        }
        if case .fields = VaryList(fields) {
            require(VaryList(fields).allows(fields, after: fields), "a request is like itself")
        }
    }
}

/// Texts as they come out of a head.
enum FieldText {
    /// The bytes as a field's value: without controls and without blanks at the ends.
    static func value(_ bytes: [UInt8]) -> String {
        let kept = bytes.filter { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let start = kept.drop(while: isBlank)
        let end = start.lastIndex { !isBlank($0) }.map { start[...$0] } ?? []
        return String(decoding: end, as: UTF8.self)
    }

    /// Without what no field may hold.
    static func plain(_ text: String) -> String {
        String(decoding: text.utf8.filter { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }, as: UTF8.self)
    }

    static func requireRoundTrip<Value: Equatable & CustomStringConvertible>(
        _ text: String, _ read: (String) -> Value?
    ) {
        guard let value = read(text) else { return }
        guard let again = read(value.description) else {
            fail("what is written can be read: \(value.description.debugDescription) of \(text.debugDescription)")
        }
        requireSame(again, value, "written and read again \(text.debugDescription) means the same")
        require(
            value.description.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }, "nothing breaks a field")
    }
}

extension HTTPDate {
    /// Cookies have no dates before the year 1601, and none with a leap second or a year of five digits.
    fileprivate var isForCookies: Bool {
        secondsSinceEpoch >= -11_644_473_600 && secondsSinceEpoch <= 253_402_300_799
    }
}
