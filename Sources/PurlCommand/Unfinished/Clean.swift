import Purl

/// `purl clean`: removes the unfinished downloads, and gives the unfinished uploads up.
struct Clean {
    private let options: FolderOptions
    private let output: MessagePrinter
    private let errors: MessagePrinter
    private let makeConfiguration: @Sendable () -> URLSessionConfiguration

    /// - Parameters:
    ///   - output: Where the removed downloads are printed.
    ///   - errors: Where errors are printed.
    ///   - events: Where events are written in place of both.
    ///   - configuration: Makes the configuration with which servers are asked to delete their parts of uploads.
    init(
        _ options: FolderOptions, output: Console, errors: Console, events: EventLog? = nil,
        configuration: @escaping @Sendable () -> URLSessionConfiguration = { .default }
    ) {
        self.options = options
        self.output = MessagePrinter(console: output, isQuiet: false, subject: nil, events: events)
        self.errors = MessagePrinter(console: errors, isQuiet: false, subject: nil, events: events)
        makeConfiguration = configuration
    }

    func run() async -> ExitCode {
        let (downloads, uploads, found) = options.unfinished(errors)
        var code = found
        var (removed, sum, kept) = (0, Int64(0), 0)
        for download in downloads {
            if download.remains == .unknown, !options.includesUnknown, !download.isBeingWritten {
                let bytes = ByteText.count(download.length)
                output.info(
                    "\(download.name).part: kept, \(bytes) without a record (--all removes it)",
                    event(.kept, download.name + PartFiles.bytesSuffix).with {
                        ($0.transfer, $0.bytes, $0.reason) = ("download", download.length, "no record")
                    })
                kept += 1
                continue
            }
            do throws(CommandFailure) {
                let bytes = try remove(download)
                output.info(
                    message(download, bytes),
                    event(.removed, download.name).with { ($0.transfer, $0.bytes) = ("download", bytes) })
                removed += 1
                sum += bytes
            } catch {
                errors.error(error.sentence, event(.kept, download.name).with { $0.transfer = "download" })
                code = .failure
            }
        }
        if removed > 0, output.events == nil {
            output.info("\(options.isDryRun ? "Would remove" : "Removed") \(ByteText.count(sum)) in all")
        }
        if !(await give(up: uploads)) { code = .failure }
        if removed == 0, kept == 0, uploads.isEmpty, code == .success, output.events == nil {
            output.info("No unfinished downloads or uploads")
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
            errors.error(error.sentence)
            return false
        }
        let cancellation = UploadCancellation(configuration)
        var isDone = true
        for upload in uploads {
            let name = upload.name + UploadRecord.suffix
            do throws(CommandFailure) {
                guard !upload.isBeingSent else { throw upload.beingSent }
                guard !options.isDryRun else {
                    output.info(
                        "\(name): would be removed, an upload to \(upload.record.shownURL)", removal(upload))
                    continue
                }
                var answer = ""
                try await upload.remove { record throws(CommandFailure) in
                    answer = try await cancellation.cancel(record, name)
                }
                output.info(
                    "\(name): removed, an upload to \(upload.record.shownURL); \(answer)",
                    removal(upload).with { $0.reason = answer })
            } catch {
                errors.error(error.sentence, event(.kept, upload.name).with { $0.transfer = "upload" })
                isDone = false
            }
        }
        return isDone
    }

    private func event(_ kind: CommandEvent.Kind, _ name: String) -> CommandEvent {
        CommandEvent(kind, file: name).with { $0.isDryRun = options.isDryRun }
    }

    private func removal(_ upload: UnfinishedUpload) -> CommandEvent {
        event(.removed, upload.name).with { ($0.transfer, $0.url) = ("upload", upload.record.shownURL) }
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
