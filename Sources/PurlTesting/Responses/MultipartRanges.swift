internal import PurlHTTP

/// How a `multipart/byteranges` body (RFC 9110 §14.6) is put together: framing and parts of the content in turn.
struct MultipartRanges {
    /// A piece of the body.
    enum Piece {
        case framing([UInt8])
        case content(Range<Int64>)
    }

    private static let boundary = "purl-byteranges"

    /// The pieces, each with the offset of its first byte in the body.
    let pieces: [(offset: Int64, piece: Piece)]
    /// How many bytes the body has.
    let length: Int64

    /// The `Content-Type` of the response.
    var contentType: String { "multipart/byteranges; boundary=\(Self.boundary)" }

    /// `nil` for a selection that needs none.
    ///
    /// - Parameters:
    ///   - selection: Which ranges of the content are sent.
    ///   - contentType: The `Content-Type` of each part.
    ///   - length: How many bytes the content has.
    init?(_ selection: ContentSelection, contentType: String?, length: Int64) {
        guard case .parts(let ranges) = selection else { return nil }
        var pieces: [Piece] = []
        var separator = ""
        for range in ranges {
            var head = "\(separator)--\(Self.boundary)\r\n"
            if let contentType { head += "Content-Type: \(contentType)\r\n" }
            head += "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)\r\n\r\n"
            pieces += [.framing([UInt8](head.utf8)), .content(range)]
            separator = "\r\n"
        }
        pieces.append(.framing([UInt8]("\(separator)--\(Self.boundary)--\r\n".utf8)))

        var offset: Int64 = 0
        self.pieces = pieces.map { piece in
            defer { offset += piece.count }
            return (offset, piece)
        }
        self.length = offset
    }
}

extension MultipartRanges.Piece {
    /// How many bytes the piece has.
    fileprivate var count: Int64 {
        switch self {
        case .framing(let bytes): Int64(bytes.count)
        case .content(let range): Int64(range.count)
        }
    }
}
