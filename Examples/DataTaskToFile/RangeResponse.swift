import Foundation
import Purl

/// What a response to `Range: bytes=SIZE-` means for the bytes on disk.
enum RangeResponse {
    /// The body is the rest: it is appended.
    case rest(total: Int64)
    /// The body is the whole file, because the server does not support ranges or the file has changed: the file on disk is
    /// emptied first. Appending this body is the classic mistake of resumable downloads.
    case whole(total: Int64?)
    /// No bytes are missing.
    case nothingLeft
    /// The body is another range than requested.
    case wrongPart
    /// An error page: the file on disk stays as it is.
    case notTheFile(status: Int)

    /// - Parameters:
    ///   - size: The bytes on disk: the offset of the rest.
    ///   - record: Their total and version.
    init(_ response: HTTPURLResponse, size: Int64, record: PartialRecord?) {
        switch response.statusCode {
        case 200:
            self = .whole(total: response.expectedContentLength >= 0 ? response.expectedContentLength : nil)
        case 206:
            // Content-Range is checked, since the expected length tells nothing about the offset.
            guard let range = ContentRange(response), range.first == size, let total = range.total,
                range.last == total - 1, total == record?.total ?? total, Self.isSameVersion(response, record)
            else {
                self = .wrongPart
                return
            }
            self = .rest(total: total)
        case 416:
            let total = ContentRange(response)?.total
            self = total == size && Self.isSameVersion(response, record) ? .nothingLeft : .wrongPart
        default:
            self = .notTheFile(status: response.statusCode)
        }
    }

    private static func isSameVersion(_ response: HTTPURLResponse, _ record: PartialRecord?) -> Bool {
        guard let tag = response.value(forHTTPHeaderField: "ETag") else { return true }
        return tag == record?.validator
    }
}

/// `bytes 500-999/1000`, `bytes 500-999/*`, `bytes */1000` (RFC 9110 §14.4).
private struct ContentRange {
    var first: Int64?
    var last: Int64?
    var total: Int64?

    init?(_ response: HTTPURLResponse) {
        guard let text = response.value(forHTTPHeaderField: "Content-Range"), text.hasPrefix("bytes ") else {
            return nil
        }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        total = Int64(parts[1])
        let bounds = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        if bounds.count == 2 { (first, last) = (Int64(bounds[0]), Int64(bounds[1])) }
    }
}
