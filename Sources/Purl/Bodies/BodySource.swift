/// What brings a body piece by piece. The calls block; they are made on one queue, one at a time.
protocol BodySource: Sendable {
    /// The next piece. After the last one, or a failure, nothing is asked for any more.
    func next() throws(BodyFailure) -> BodyPiece

    /// Lets go of what is open. May be called at any time but during `next`, and more than once.
    func close()
}

/// A part of a body as it goes over the wire: bytes, or a place in a file that the system is to send.
struct BodyPiece: Sendable {
    /// How many bytes of a body a piece holds at most.
    static let limit = 256 << 10

    var wire: [UInt8] = []
    /// In place of `wire`.
    var region: FileRegion?
    /// Where in `wire` the body's own bytes are. The rest is the chunked coding's.
    var content = 0..<0
    /// The body ends here.
    var isLast = false

    /// How many bytes go over the wire.
    var length: Int { region?.count ?? wire.count }

    /// How many of the body's bytes are among the first `count` of the piece.
    func contentBytes(in count: Int) -> Int {
        min(max(count, content.lowerBound), content.upperBound) - content.lowerBound
    }
}
