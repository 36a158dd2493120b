import Foundation
internal import PurlConnections
internal import PurlHTTP

/// Which parts of a resource its unfinished file holds, when they did not arrive one after another: what several connections
/// have placed.
///
/// It lies in the file itself, behind the resource's last byte, as two pages:
///
/// | page | what it says | what it is for |
/// | --- | --- | --- |
/// | first | the bytes that have been written | a process that was killed: it counts while the machine has not booted since |
/// | second | the bytes that had reached the disk | a power loss |
///
/// So it belongs to these bytes whatever their name is, it is covered by their lock, and whoever cuts or empties the file
/// removes it. The record beside the file counts only the bytes at the beginning, up to the first that is missing, and says
/// that nothing follows: a program that does not know the pages resumes there, and cuts the rest.
package struct RangeJournal: Sendable, Equatable {
    /// What names the version of a resource in the pages: SHA-256 of its validator.
    package struct Version: Sendable, Equatable {
        fileprivate let digest: [UInt8]

        package init(validator: String) { digest = RangeJournal.digest(Array(validator.utf8)) }
    }

    /// What names a boot of the machine in the pages: SHA-256 of its identifier.
    struct Boot: Sendable, Equatable {
        fileprivate let digest: [UInt8]

        /// - Parameter identifier: `nil` where it is unknown: then a page counts as one of another boot.
        init(_ identifier: String?) { digest = RangeJournal.digest(Array((identifier ?? "").utf8)) }
    }

    /// The length of the resource.
    package let total: Int64
    /// The parts that are filled, each from its start to its first byte that is missing: in order, without overlaps. One that
    /// begins is empty: nothing that is found behind the one before it counts beyond its start.
    package var filled: [Range<Int64>]
    /// Whether every byte that is not there is zero in the file: then bytes that a killed process has written, and not
    /// recorded any more, can be told from those that it has not.
    package var isClean: Bool
    private var version: Version

    private static let pageLength = 4096
    private static let mark = Array("purl ranges v2\n\n".utf8)
    private static let headLength = mark.count + 16 + 64
    private static let digestLength = 32

    /// The most ranges that a page holds.
    package static let maximumRanges = (pageLength - headLength - digestLength) / 16

    /// The most bytes that are written without being recorded: see ``reading(_:)``.
    package static let longestStep = 1 << 20

    package init(total: Int64, version: Version, filled: [Range<Int64>], isClean: Bool = true) {
        self.total = total
        self.filled = filled
        self.isClean = isClean
        self.version = version
    }

    /// The bytes that are there: in order, not adjacent, not empty.
    package var present: [Range<Int64>] {
        filled.reduce(into: []) { joined, range in
            if range.isEmpty { return }
            if let last = joined.last, last.upperBound == range.lowerBound {
                joined[joined.count - 1] = last.lowerBound..<range.upperBound
            } else {
                joined.append(range)
            }
        }
    }

    /// How many bytes are there.
    package var presentCount: Int64 { filled.reduce(0) { $0 + Int64($1.count) } }

    /// The same for bytes that count as another version's, since their owner checks the whole.
    func asVersion(_ version: Version) -> RangeJournal {
        var journal = self
        journal.version = version
        return journal
    }

    /// Where the pages begin: so that no page of memory holds parts of two, and each is written as a whole.
    package static func place(behind total: Int64) -> Int64 {
        let page = Int64(pageLength)
        return (total + page - 1) / page * page
    }

    /// The offset of a page in the file.
    static func offset(_ page: Page, behind total: Int64) -> Int64 {
        switch page {
        case .written: place(behind: total)
        case .safe: place(behind: total) + Int64(pageLength)
        }
    }

    /// The length of a file with the pages.
    static func fileLength(_ total: Int64) -> Int64 { place(behind: total) + 2 * Int64(pageLength) }

    /// The longest resource whose file may have the pages: the sums of offsets stay numbers.
    package static let longestResource: Int64 = 1 << 62

    /// Whether a file may have the pages: a ``PieceLedger`` may follow them.
    private static func isLength(_ length: Int64, of total: Int64) -> Bool {
        0...longestResource ~= total && fileLength(total)...PieceLedger.greatestLength(total) ~= length
    }

    /// Whether the pages of a file of several connections are behind its content, so that the file is not complete.
    package static func isBehind(_ total: Int64, in file: Data) -> Bool {
        isLength(Int64(file.count), of: total)
            && Page.allCases.contains { file.dropFirst(Int(offset($0, behind: total))).starts(with: mark) }
    }

    package enum Page: Sendable, CaseIterable {
        case written, safe
    }

    // MARK: Pages

    func page(inBoot boot: Boot) -> [UInt8] {
        var bytes = Self.mark
        bytes.reserveCapacity(Self.pageLength)
        bytes.append(number: total)
        bytes.append(number: Int64(filled.count) << 1 | (isClean ? 1 : 0))
        bytes += version.digest
        bytes += boot.digest
        for range in filled {
            bytes.append(number: range.lowerBound)
            bytes.append(number: range.upperBound)
        }
        bytes += Self.digest(bytes)
        return bytes + [UInt8](repeating: 0, count: Self.pageLength - bytes.count)
    }

    /// Reads a page, which is untrusted; `nil` when it is damaged, or belongs to another version.
    ///
    /// - Parameter boot: The boot in which the page must have been written; `nil` for any.
    init?(page bytes: [UInt8], total: Int64, version: Version, boot: Boot?) {
        let digest = Self.headLength - 32..<Self.headLength
        guard bytes.count == Self.pageLength, Array(bytes[0..<Self.mark.count]) == Self.mark,
            bytes.number(at: Self.mark.count) == total
        else { return nil }
        let head = bytes.number(at: Self.mark.count + 8)
        let count = head >> 1
        guard (0...Int64(Self.maximumRanges)).contains(count) else { return nil }
        let end = Self.headLength + Int(count) * 16
        guard Array(bytes[end..<end + Self.digestLength]) == Self.digest(Array(bytes[..<end])) else { return nil }
        var filled: [Range<Int64>] = []
        for index in 0..<Int(count) {
            let first = bytes.number(at: Self.headLength + index * 16)
            let last = bytes.number(at: Self.headLength + index * 16 + 8)
            guard first >= 0, first <= last, last <= total, filled.last.map({ $0.upperBound <= first }) ?? true
            else { return nil }
            filled.append(first..<last)
        }
        if let boot, Array(bytes[digest]) != boot.digest { return nil }
        guard Array(bytes[Self.mark.count + 16..<Self.mark.count + 48]) == version.digest else { return nil }
        self.init(total: total, version: version, filled: filled, isClean: head & 1 == 1)
    }

    /// The journal of the file that a record describes; `nil` when there is none, or it does not count.
    ///
    /// - Parameters:
    ///   - length: The file's length.
    ///   - boot: The machine's current boot; `nil` where it is unknown, and counts as another one.
    ///   - read: Returns the file's bytes at some offsets.
    init?(
        of resume: ResumeData, length: Int64, inBoot boot: String?, read: (Range<Int64>) throws -> Data
    ) rethrows {
        guard let pages = try Self.pages(of: resume, length: length, inBoot: boot, read: read) else { return nil }
        self.init(written: pages[.written], safe: pages[.safe])
    }

    /// What counts of two pages; `nil` when nothing does.
    ///
    /// - Parameters:
    ///   - written: The first page, if it was written in the machine's current boot.
    ///   - safe: The second page.
    init?(written: RangeJournal?, safe: RangeJournal?) {
        guard var journal = written ?? safe else { return nil }
        // What was written after the second page may be there in part, in any order.
        if written == nil { journal.isClean = false }
        self = journal
    }

    /// The pages that count of the file that a record describes; `nil` when it is not that file, or has none.
    ///
    /// They name the version themselves, and a file that loses them is cut. So the record may be one that expected the bytes to
    /// follow one another: a process that is killed while it writes the next record leaves the one before.
    static func pages(
        of resume: ResumeData, length: Int64, inBoot boot: String?, read: (Range<Int64>) throws -> Data
    ) rethrows -> [Page: RangeJournal]? {
        guard let total = resume.totalBytes, let validator = resume.validator, isLength(length, of: total),
            // Otherwise it is not the file that the record describes.
            try resume.count(ofLength: length, inBoot: boot, read: read) != nil
        else { return nil }
        let version = Version(validator: validator)
        var pages: [Page: RangeJournal] = [:]
        for page in Page.allCases where page == .safe || boot != nil {
            let offset = offset(page, behind: total)
            pages[page] = RangeJournal(
                page: [UInt8](try read(offset..<offset + Int64(pageLength))), total: total, version: version,
                boot: page == .safe ? nil : Boot(boot))
        }
        return pages
    }

    /// Adds what a killed process had written and not recorded.
    ///
    /// The process records the start of a part before it writes its first byte, fills the part in order, and records the
    /// part's new end after each write of at most ``longestStep``. So what is not zero between a part's recorded end and the
    /// next start belongs to that one write, and everything up to its last byte that is not zero was written. Content that
    /// is zero counts as missing, which costs a request and harms nothing: what is there is zero as well.
    ///
    /// - Parameter step: The most bytes that the process writes at a time.
    package func reading(
        upTo step: Int = longestStep, _ read: (Range<Int64>) throws -> Data
    ) rethrows -> RangeJournal {
        guard isClean else { return self }
        var found = self
        for index in filled.indices {
            let start = filled[index].upperBound
            let end = index + 1 < filled.count ? filled[index + 1].lowerBound : total
            guard start < end else { continue }
            let bytes = try read(start..<min(end, start + Int64(step)))
            found.filled[index] = filled[index].lowerBound..<start + Int64(bytes.span.countWithoutZeros)
        }
        return found
    }

    static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = SHA256()
        digest.update(bytes.span.bytes)
        return Array(digest.finalize())
    }
}

extension [UInt8] {
    mutating func append(number: Int64) {
        for shift in stride(from: 0, to: 64, by: 8) { append(UInt8(truncatingIfNeeded: number >> Int64(shift))) }
    }

    func number(at offset: Int) -> Int64 {
        (0..<8).reduce(0) { $0 | Int64(self[offset + $1]) << Int64(8 * $1) }
    }
}

/// The record of a sink whose bytes did not arrive one after another.
package struct SinkRecord: Sendable {
    private var resume: ResumeData

    /// `nil` for data that is not a record.
    package init?(_ data: Data) {
        guard let resume = try? ResumeData(decoding: data) else { return nil }
        self.resume = resume
    }

    /// The length of the resource, if it is known.
    package var totalBytes: Int64? { resume.totalBytes }

    /// How many bytes at the beginning it counts.
    package var bytesReceived: Int64 { resume.bytesReceived }

    /// What names the version; `nil` where it is not known, or cannot be written in a header field as it came.
    package var validator: String? {
        resume.validator.flatMap { $0.utf8.allSatisfy { 0x20...0x7E ~= $0 } ? $0 : nil }
    }

    /// The record that says that nothing follows the bytes it counts.
    package func stopped() throws -> Data {
        var stopped = resume
        stopped.state = .stopped
        return try stopped.encoded()
    }

    /// The record that counts so many of the sink's bytes, and says that nothing follows.
    ///
    /// - Parameter boot: The machine's current boot. What counts of a file that was written in another one is safe.
    package func stopped(at count: Int64, in sink: any BodySink, inBoot boot: String?) throws -> Data {
        var stopped = resume
        let safe = resume.safe ?? DigestedBytes(count: resume.bytesReceived, tailDigest: resume.tailDigest)
        stopped.safe = boot != nil && resume.boot == boot && safe.count < count ? safe : nil
        stopped.boot = boot
        stopped.bytesReceived = count
        stopped.tailDigest = try sink.tailDigest(endingAt: count)
        stopped.state = .stopped
        return try stopped.encoded()
    }

    /// The journal of the file; `nil` when it has none.
    package func journal(
        length: Int64, inBoot boot: String?, read: (Range<Int64>) throws -> Data
    ) rethrows -> RangeJournal? {
        try RangeJournal(of: resume, length: length, inBoot: boot, read: read)
    }
}
