import Foundation
import Purl

/// What a response means for the bytes on disk.
enum DownloadAnswer: Equatable {
    /// The rest of the version on disk: append.
    case rest
    /// A whole file: what is on disk is not part of it. Without a record when the server gives the version no name.
    case whole(total: Int64?, DownloadRecord?)
    /// A rest that does not fit: the bytes on disk are of no use.
    case unusable
    /// Not the file.
    case refused(status: Int)

    /// - Parameters:
    ///   - size: How many bytes are on disk.
    ///   - record: Of which version they are.
    init(_ response: HTTPURLResponse, size: Int64, record: DownloadRecord?) {
        switch response.statusCode {
        case 200:
            let total = response.expectedContentLength >= 0 ? response.expectedContentLength : nil
            let tag = response.value(forHTTPHeaderField: "ETag")
            // A weak tag does not promise the same bytes.
            let strong = tag.flatMap { $0.hasPrefix("W/") ? nil : $0 }
            self = .whole(total: total, strong.map { DownloadRecord(tag: $0, total: total) })
        case 206:
            let range = response.value(forHTTPHeaderField: "Content-Range") ?? ""
            let total = Self.total(in: range)
            let isRest = range.hasPrefix("bytes \(size)-") && total == record?.total ?? total
            let tag = response.value(forHTTPHeaderField: "ETag") ?? record?.tag
            self = isRest && tag == record?.tag ? .rest : .unusable
        case 416: self = .unusable
        default: self = .refused(status: response.statusCode)
        }
    }

    /// The number after the slash in `bytes 4-11/12`.
    private static func total(in range: String) -> Int64? {
        range.split(separator: "/").last.flatMap { Int64($0) }
    }
}
