import Purl

/// `purl clean`: removes the unfinished downloads.
struct Clean {
    private let options: FolderOptions
    private let output: Console
    private let errors: Console

    /// - Parameters:
    ///   - output: Where the removed downloads are printed.
    ///   - errors: Where errors are printed.
    init(_ options: FolderOptions, output: Console, errors: Console) {
        self.options = options
        self.output = output
        self.errors = errors
    }

    func run() -> ExitCode {
        var (downloads, code) = options.unfinished(errors)
        var (removed, sum, kept) = (0, Int64(0), 0)
        for download in downloads {
            if download.remains == .unknown, !options.includesUnknown, !download.isBeingWritten {
                let bytes = ByteText.count(download.length)
                output.print("\(download.name).part: kept, \(bytes) without a record (--all removes it)")
                kept += 1
                continue
            }
            do throws(CommandFailure) {
                let bytes = try remove(download)
                output.print(message(download, bytes))
                removed += 1
                sum += bytes
            } catch {
                errors.print("purl: \(error.sentence)")
                code = .failure
            }
        }
        if removed > 0 {
            output.print("\(options.isDryRun ? "Would remove" : "Removed") \(ByteText.count(sum)) in all")
        } else if kept == 0, code == .success {
            output.print("No unfinished downloads")
        }
        return code
    }

    private func remove(_ download: UnfinishedDownload) throws(CommandFailure) -> Int64 {
        guard !download.isBeingWritten else { throw UnfinishedDownload.beingWritten(download.name) }
        return options.isDryRun ? download.length : try download.remove()
    }

    private func message(_ download: UnfinishedDownload, _ bytes: Int64) -> String {
        let fact = options.isDryRun ? "would be removed" : "removed"
        switch download.remains {
        case .bytes(let record):
            let progress = ByteText.progress(bytes, of: record.totalBytes)
            return "\(download.name): \(fact), \(progress), \(record.url.shownText)"
        case .useless, .unknown: return "\(download.name).part: \(fact), \(ByteText.count(bytes))"
        case .recordAlone: return "\(download.name).resume: \(fact), a record without bytes"
        }
    }
}
