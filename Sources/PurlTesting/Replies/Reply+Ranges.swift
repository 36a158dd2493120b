extension Reply {
    /// Answers with the whole content whatever `Range` asks for, the first `times` times. Still says `Accept-Ranges`.
    public func ignoringRange(times: Int = .max) -> Reply {
        changed { $0.ranges = Limited(value: .ignored, times: times) }
    }

    /// Answers `416` with `Content-Range: bytes */length`, the first `times` times, asked for a range or not.
    public func rangeNotSatisfiable(times: Int = .max) -> Reply {
        changed { $0.ranges = Limited(value: .refused, times: times) }
    }

    /// Spoils the `Content-Range` of 206 answers, the first `times` times.
    public func contentRange(_ fault: ContentRangeFault, times: Int = .max) -> Reply {
        changed { $0.contentRangeFault = Limited(value: fault, times: times) }
    }

    /// The `Accept-Ranges` value (`bytes` unless told otherwise); nil leaves the field out.
    ///
    /// Ranges are honoured all the same; see ``ignoringRange(times:)``.
    public func acceptRanges(_ value: String?) -> Reply {
        changed { $0.acceptRanges = value }
    }
}
