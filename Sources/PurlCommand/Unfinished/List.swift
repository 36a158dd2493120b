import Purl

/// `purl list`: shows the unfinished downloads and uploads.
struct List {
    private let options: FolderOptions
    private let output: Console
    private let errors: Console

    /// - Parameters:
    ///   - output: Where the table is printed.
    ///   - errors: Where errors are printed.
    init(_ options: FolderOptions, output: Console, errors: Console) {
        self.options = options
        self.output = output
        self.errors = errors
    }

    func run() -> ExitCode {
        let (downloads, uploads, code) = options.unfinished(errors)
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
            let bytes = download.isBeingWritten ? download.length : record.bytesReceived
            let progress = TransferProgress(received: bytes, total: record.totalBytes)
            let source = [record.shownURL, remark.map { "(\($0))" }].compactMap(\.self)
            return [
                download.name, ByteText.progress(bytes, of: record.totalBytes),
                progress.percent.map { "\($0) %" } ?? "", source.joined(separator: " "),
            ]
        case .useless(let record):
            let defect = record.bytesReceived > 0 ? "the record does not match" : "cannot be resumed"
            return useless(download, remark ?? defect)
        case .unknown:
            return useless(download, remark ?? "no record")
        case .recordAlone:
            return nil
        }
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
