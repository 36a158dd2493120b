import Foundation
import Purl
internal import PurlHTTP

/// SHA-256 of files, computed piece by piece.
package enum FileDigest {
    private static let pieceLength: Int64 = 1 << 20

    /// The digest, hexadecimal, of `length` bytes that `read` returns; `nil` when `isStopped` becomes true meanwhile.
    static func sha256(
        length: Int64, isStopped: () -> Bool, read: (Range<Int64>) throws -> Data
    ) throws -> String? {
        var digest = SHA256()
        var offset: Int64 = 0
        while offset < length {
            guard !isStopped() else { return nil }
            let piece = try read(offset..<min(length, offset + pieceLength))
            guard !piece.isEmpty else { throw CocoaError(.fileReadUnknown) }
            digest.update(piece.bytes)
            offset += Int64(piece.count)
        }
        return SHA256.hexadecimal(digest.finalize())
    }

    /// The digest of the file at `url`; `nil` when `isStopped` becomes true meanwhile.
    static func sha256(fileAt url: URL, isStopped: () -> Bool) throws -> String? {
        let file = try FileHandle(forReadingFrom: url)
        defer { try? file.close() }
        let length = Int64(try file.seekToEnd())
        try file.seek(toOffset: 0)
        return try sha256(length: length, isStopped: isStopped) { range in
            try file.read(upToCount: Int(range.upperBound - range.lowerBound)) ?? Data()
        }
    }

    /// Whether a text is a SHA-256: 64 hexadecimal digits of either case.
    package static func isHexadecimal(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x46).contains($0) || (0x61...0x66).contains($0)
            }
    }
}

extension URLRequest {
    /// Asks for the digest of the whole file (RFC 9530 §4), unless the program asks in its own way.
    ///
    /// - Parameter session: Makes the request, to which its configuration may add fields.
    package mutating func askForDigest(in session: URLSession) {
        let field = "Want-Repr-Digest"
        let added = session.configuration.httpAdditionalHeaders ?? [:]
        guard value(forHTTPHeaderField: field) == nil,
            !added.keys.contains(where: { ($0 as? String)?.lowercased() == field.lowercased() })
        else { return }
        setValue("sha-256=10", forHTTPHeaderField: field)
    }
}

extension HTTPURLResponse {
    /// The digest of the whole file, hexadecimal, if the server sends it (RFC 9530): of the representation, of which the
    /// response may carry a part; otherwise of the content, when that is the whole representation. They are digests of content
    /// as it is sent; where its coding is undone, `Unencoded-Digest` is the file's.
    ///
    /// - Parameter content: What becomes of a content coding.
    package func fileSHA256(_ content: CodedContent = .decoded) -> String? {
        let sent = sha256(in: "Repr-Digest") ?? (statusCode == 200 ? contentSHA256 : nil)
        let coding = value(forHTTPHeaderField: "Content-Encoding")?.lowercased() ?? ""
        let unencoded = sha256(in: "Unencoded-Digest")
        if ["", "identity"].contains(coding) { return sent ?? unencoded }
        return switch content {
        case .asSent: sent
        case .decoded: unencoded
        }
    }

    /// The digest of what this response carries.
    var contentSHA256: String? { sha256(in: "Content-Digest") }

    private func sha256(in field: String) -> String? {
        value(forHTTPHeaderField: field).flatMap(DigestField.sha256).map(SHA256.hexadecimal)
    }
}

/// The digest of the bytes that a response carries, where these are a part of the file (RFC 9530 §2).
struct PartDigest: Sendable, Equatable {
    let bytes: Range<Int64>
    /// 64 hexadecimal digits, in lower case.
    let sha256: String

    /// `nil` where the response names none, or its content is coded.
    init?(of response: HTTPURLResponse) {
        let coding = response.value(forHTTPHeaderField: "Content-Encoding")?.lowercased() ?? ""
        guard response.statusCode == 206, ["", "identity"].contains(coding),
            let bounds = response.value(forHTTPHeaderField: "Content-Range").flatMap({ ContentRange($0) })?.bounds,
            let sha256 = response.contentSHA256
        else { return nil }
        bytes = bounds.lowerBound..<bounds.upperBound + 1
        self.sha256 = sha256
    }
}

/// The digest that a caller expects of a file.
enum ExpectedDigest: Sendable, Equatable {
    /// The caller expects none in particular.
    case unspecified
    /// 64 hexadecimal digits, in lower case.
    case sha256(String)
    /// The caller's text is not a digest: no file can have it.
    case malformed(String)

    init(_ text: String?) {
        self =
            switch text {
            case nil: .unspecified
            case let text? where FileDigest.isHexadecimal(text): .sha256(text.lowercased())
            case let text?: .malformed(text)
            }
    }

    var sha256: String? {
        switch self {
        case .sha256(let digest): digest
        case .unspecified, .malformed: nil
        }
    }
}
