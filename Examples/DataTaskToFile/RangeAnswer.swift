import Foundation
import Purl

/// What an answer to `Range: bytes=SIZE-` means for the bytes on disk. The whole trick is in here.
enum RangeAnswer {
    /// The rest comes: append it.
    case rest(total: Int64)
    /// The whole comes, because the server knows no ranges or the file has changed: empty the file first. Appending
    /// this is the classic mistake of resumable downloads.
    case whole(total: Int64?)
    /// There is no rest.
    case nothingLeft
    /// It says "partial", and is not the part that was asked for.
    case wrongPart
    /// An error page: it has nothing to do with the file.
    case notTheFile(status: Int)

    /// - Parameters:
    ///   - size: The bytes on disk; where the rest begins.
    ///   - record: What is known of them.
    init(_ response: HTTPURLResponse, size: Int64, record: PartialRecord?) {
        switch response.statusCode {
        case 200:
            self = .whole(total: response.expectedContentLength >= 0 ? response.expectedContentLength : nil)
        case 206:
            // Expected length + size on disk would be the total of an honest answer only. Content-Range tells.
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
