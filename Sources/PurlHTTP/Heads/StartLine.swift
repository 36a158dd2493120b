/// The first line of a head.
protocol StartLine: Sendable {
    /// Reads the line that lies in `range` of `bytes`, its end not included.
    init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(ParseError)
}
