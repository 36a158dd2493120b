/// Unfinished downloads as the lines of a table.
enum UnfinishedTable {
    /// Longer names do not make the column wider.
    private static let longestName = 40

    /// A line for each download; none for a record without bytes, of which nothing is unfinished.
    static func lines(_ downloads: [UnfinishedDownload]) -> [String] {
        let rows = downloads.compactMap(cells)
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
        case .bytes(let record):
            // What is written now is further than the record, which is brought up to date from time to time.
            let bytes = download.isBeingWritten ? download.length : record.bytesReceived
            let progress = TransferProgress(received: bytes, total: record.totalBytes)
            let about = [record.url.absoluteString, remark.map { "(\($0))" }].compactMap(\.self)
            return [
                download.name, ByteText.progress(bytes, of: record.totalBytes),
                progress.percent.map { "\($0) %" } ?? "", about.joined(separator: " "),
            ]
        case .misfit, .unknown:
            return [
                download.name + PartFiles.bytesEnding, ByteText.count(download.length), "",
                remark ?? "nothing vouches for these bytes",
            ]
        case .recordAlone:
            return nil
        }
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - DisplayText.columns(text)))
    }
}
