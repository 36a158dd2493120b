import Purl

/// `purl clean`: removes the unfinished downloads, and gives the unfinished uploads up.
struct Clean {
    private let options: FolderOptions
    private let output: Console
    private let errors: Console
    private let makeConfiguration: @Sendable () -> URLSessionConfiguration

    /// - Parameters:
    ///   - output: Where the removed downloads are printed.
    ///   - errors: Where errors are printed.
    ///   - configuration: Makes the configuration with which servers are asked to delete their parts of uploads.
    init(
        _ options: FolderOptions, output: Console, errors: Console,
        configuration: @escaping @Sendable () -> URLSessionConfiguration = { .default }
    ) {
        self.options = options
        self.output = output
        self.errors = errors
        makeConfiguration = configuration
    }

    func run() async -> ExitCode {
        let (downloads, uploads, found) = options.unfinished(errors)
        var code = found
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
        }
        if !(await give(up: uploads)) { code = .failure }
        if removed == 0, kept == 0, uploads.isEmpty, code == .success {
            output.print("No unfinished downloads or uploads")
        }
        return code
    }

    /// Removes the records of uploads, and has the servers delete what they have of them. `false` when one was kept.
    private func give(up uploads: [UnfinishedUpload]) async -> Bool {
        guard !uploads.isEmpty else { return true }
        let configuration = makeConfiguration()
        do throws(CommandFailure) {
            try options.tls.apply(to: configuration, errors, isVerbose: false)
        } catch {
            errors.print("purl: \(error.sentence)")
            return false
        }
        let cancellation = UploadCancellation(configuration)
        var isDone = true
        for upload in uploads {
            let name = upload.name + UploadRecord.suffix
            do throws(CommandFailure) {
                guard !upload.isBeingSent else { throw upload.beingSent }
                guard !options.isDryRun else {
                    output.print("\(name): would be removed, an upload to \(upload.record.shownURL)")
                    continue
                }
                var answer = ""
                try await upload.remove { record throws(CommandFailure) in
                    answer = try await cancellation.cancel(record, name)
                }
                output.print("\(name): removed, an upload to \(upload.record.shownURL); \(answer)")
            } catch {
                errors.print("purl: \(error.sentence)")
                isDone = false
            }
        }
        return isDone
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
            return "\(download.name): \(fact), \(progress), \(record.shownURL)"
        case .useless, .unknown: return "\(download.name).part: \(fact), \(ByteText.count(bytes))"
        case .recordAlone: return "\(download.name).resume: \(fact), a record without bytes"
        }
    }
}
