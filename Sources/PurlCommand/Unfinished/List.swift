import Foundation
import Purl

/// `purl list`: shows the unfinished downloads and uploads.
struct List {
    private let options: FolderOptions
    private let output: Console
    private let errors: MessagePrinter

    /// - Parameters:
    ///   - output: Where the table is printed.
    ///   - errors: Where errors are printed.
    ///   - events: Where events are written in place of both.
    init(_ options: FolderOptions, output: Console, errors: Console, events: EventLog? = nil) {
        self.options = options
        self.output = output
        self.errors = MessagePrinter(console: errors, isQuiet: false, subject: nil, events: events)
    }

    func run() -> ExitCode {
        let (downloads, uploads, code) = options.unfinished(errors)
        if let events = errors.events {
            for event in downloads.compactMap(\.event) + uploads.map(\.event) { events.write(event) }
            return code
        }
        let lines = UnfinishedTable.lines(downloads, uploads)
        if lines.isEmpty, code == .success { output.print("No unfinished downloads or uploads") }
        for line in lines { output.print(line) }
        return code
    }
}

/// Formats unfinished downloads and uploads as a table.
enum UnfinishedTable {
    /// Longer names do not make the column wider.
    private static let longestName = 40
    /// How many parts of a file are shown.
    private static let longestList = 8

    /// A line for each download, and for each upload; none for a record without bytes.
    static func lines(_ downloads: [UnfinishedDownload], _ uploads: [UnfinishedUpload] = []) -> [String] {
        let rows = downloads.compactMap(cells) + uploads.map(cells)
        let widths = (0..<3).map { column in
            rows.map { DisplayText.columns($0[column]) }.filter { $0 <= longestName }.max() ?? 0
        }
        return rows.map { cells in
            let name = padded(cells[0], to: widths[0])
            let percent = String(repeating: " ", count: max(0, widths[2] - cells[2].count)) + cells[2]
            return [name, padded(cells[1], to: widths[1]), percent, cells[3]].joined(separator: "  ")
        }
    }

    /// Name, progress, per cent, and the URL with a remark.
    private static func cells(_ download: UnfinishedDownload) -> [String]? {
        let remark = download.isBeingWritten ? "being written" : nil
        switch download.remains {
        case .bytes, .useless:
            guard let obstacle = download.parts.obstacle else { break }
            return useless(download, remark ?? obstacle)
        case .unknown, .recordAlone: break
        }
        switch download.remains {
        case .bytes(let record):
            // The file is longer than its record, which is updated from time to time.
            let isLonger = download.isBeingWritten && download.ranges == nil
            let bytes = isLonger ? download.length : record.bytesReceived
            let progress = TransferProgress(received: bytes, total: record.totalBytes)
            let remarks = [download.ranges.map(text), remark].compactMap(\.self).joined(separator: ", ")
            let source = [record.shownURL] + (remarks.isEmpty ? [] : ["(\(remarks))"])
            return [
                download.name, ByteText.progress(bytes, of: record.totalBytes),
                progress.percent.map { "\($0) %" } ?? "", source.joined(separator: " "),
            ]
        case .useless(let record):
            return useless(download, remark ?? record.defect)
        case .unknown:
            return useless(download, remark ?? "no record")
        case .recordAlone:
            return nil
        }
    }

    /// The parts there are: the first few of them.
    private static func text(_ ranges: [Range<Int64>]) -> String {
        let shown = ranges.prefix(longestList).map {
            "\(ByteText.count($0.lowerBound))–\(ByteText.count($0.upperBound))"
        }
        let others = ranges.count > longestList ? ["…"] : []
        return "has " + (shown + others).joined(separator: ", ")
    }

    /// Name, length, and the URL with a remark: how much of it has arrived only the server knows.
    private static func cells(_ upload: UnfinishedUpload) -> [String] {
        let remark = upload.isBeingSent ? "being sent" : upload.obstacle
        let target = ["upload to", upload.record.shownURL, remark.map { "(\($0))" }].compactMap(\.self)
        return [upload.name, ByteText.count(upload.record.length), "", target.joined(separator: " ")]
    }

    private static func useless(_ download: UnfinishedDownload, _ remark: String) -> [String] {
        [download.name + PartFiles.bytesSuffix, ByteText.count(download.length), "", remark]
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - DisplayText.columns(text)))
    }
}

extension UnfinishedDownload {
    /// The download as an event; `nil` for a record without bytes.
    var event: CommandEvent? {
        let url: URL?
        let isResumable: Bool
        var (bytes, total, reason) = (length, Int64?.none, parts.obstacle)
        switch remains {
        case .bytes(let record):
            (url, total, isResumable) = (record.url, record.totalBytes, reason == nil)
            if !isBeingWritten || ranges != nil { bytes = record.bytesReceived }
        case .useless(let record):
            (url, total, isResumable) = (record.url, record.totalBytes, false)
            reason = reason ?? record.defect
        case .unknown:
            (url, isResumable, reason) = (nil, false, reason ?? "no record")
        case .recordAlone: return nil
        }
        return CommandEvent(.unfinished, file: name, url: url).with {
            ($0.transfer, $0.bytes, $0.total) = ("download", bytes, total)
            ($0.isResumable, $0.isActive, $0.reason) = (isResumable, isBeingWritten, reason)
            $0.ranges = ranges?.map { [$0.lowerBound, $0.upperBound - 1] }
        }
    }
}

extension UnfinishedUpload {
    /// The upload as an event: how much of it has arrived only the server knows.
    var event: CommandEvent {
        CommandEvent(.unfinished, file: name).with {
            ($0.transfer, $0.url, $0.total) = ("upload", record.shownURL, record.length)
            ($0.isResumable, $0.isActive, $0.reason) = (obstacle == nil, isBeingSent, obstacle)
        }
    }
}

extension ResumeRecord {
    /// Why bytes with this record are not resumed, as a clause.
    fileprivate var defect: String { bytesReceived > 0 ? "the record does not match" : "cannot be resumed" }
}
