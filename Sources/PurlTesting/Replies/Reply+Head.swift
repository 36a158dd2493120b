public import Foundation
internal import PurlHTTP

extension Reply {
    /// Another status, and the standard reason or this one. Any status but 200 switches ranges and conditions off.
    public func status(_ status: Int, reason: String? = nil) -> Reply {
        changed { traits in
            traits.status = status
            traits.reason = reason
        }
    }

    /// The `Content-Type`.
    public func contentType(_ value: String) -> Reply {
        changed { $0.contentType = value }
    }

    /// One more field line, after those that the server writes itself. Names may repeat.
    public func field(_ name: String, _ value: String) -> Reply {
        changed { $0.fields.append(FieldName(name), value) }
    }

    /// Sets a field whatever the server or other modifiers had there; nil removes it.
    ///
    /// This can make a message that lies, such as one with a wrong `Content-Length`.
    public func replacingField(_ name: String, _ value: String?) -> Reply {
        changed { $0.replacements.append((FieldName(name), value)) }
    }

    /// Interim responses (100, 102, 103 …) before the final one: one more for each call.
    public func interim(_ status: Int, fields: KeyValuePairs<String, String> = [:]) -> Reply {
        let lines = HeaderFields(fields)
        return changed { $0.interim.append(Traits.Interim(status: status, fields: lines)) }
    }

    // MARK: Validators

    /// The `ETag` as it is to be written, quotes included: `"\"v1\""`, or `"W/\"v1\""` for a weak one.
    public func entityTag(_ tag: String) -> Reply {
        changed { $0.entityTag = .fixed(tag) }
    }

    /// One `ETag` after the other, one for each answer; the last repeats. The content stays the same.
    public func entityTags(_ tags: [String]) -> Reply {
        changed { $0.entityTag = .each(tags) }
    }

    /// A different `ETag` with each answer. The content stays the same.
    public func freshEntityTags() -> Reply {
        changed { $0.entityTag = .fresh }
    }

    /// The `Last-Modified` date, in whole seconds.
    public func lastModified(_ date: Date) -> Reply {
        let seconds = Int64(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0
        return changed { $0.lastModified = HTTPDate(secondsSinceEpoch: seconds) }
    }

    /// Never answers `304`: `If-None-Match` and `If-Modified-Since` are not looked at.
    public func ignoringConditions() -> Reply {
        changed { $0.honoursConditions = false }
    }
}

extension HeaderFields {
    /// These lines in this order.
    init(_ pairs: KeyValuePairs<String, String>) {
        self.init()
        for (name, value) in pairs { append(FieldName(name), value) }
    }
}
