/// `purl clean`: removes what is unfinished.
struct Clean {
    private let options: FolderOptions
    private let output: Console
    private let errors: Console

    /// - Parameters:
    ///   - output: Where it is told what was removed.
    ///   - errors: Where complaints go.
    init(_ options: FolderOptions, output: Console, errors: Console) {
        self.options = options
        self.output = output
        self.errors = errors
    }

    func run() -> ExitCode {
        var (downloads, code) = options.unfinished(errors)
        var (count, sum, left) = (0, Int64(0), 0)
        for download in downloads {
            if download.remains == .unknown, !options.includesUnknown, !download.isBeingWritten {
                output.say("Left \(download.name).part: nothing says that it is purl's. With --all it goes too.")
                left += 1
                continue
            }
            do throws(CommandFailure) {
                let bytes = try remove(download)
                output.say(sentence(download, bytes))
                count += 1
                sum += bytes
            } catch {
                errors.say("purl: \(error.sentence)")
                code = .failure
            }
        }
        if count > 0 {
            output.say("\(options.isDryRun ? "That would be" : "In all") \(ByteText.count(sum)).")
        } else if left == 0, code == .success {
            output.say("Nothing is unfinished.")
        }
        return code
    }

    private func remove(_ download: UnfinishedDownload) throws(CommandFailure) -> Int64 {
        guard !download.isBeingWritten else { throw UnfinishedDownload.beingWritten(download.name) }
        return options.isDryRun ? download.length : try download.remove()
    }

    private func sentence(_ download: UnfinishedDownload, _ bytes: Int64) -> String {
        let verb = options.isDryRun ? "Would remove" : "Removed"
        switch download.remains {
        case .bytes(let record):
            let progress = ByteText.progress(bytes, of: record.totalBytes)
            return "\(verb) \(download.name): \(progress), \(record.url.absoluteString)"
        case .misfit, .unknown: return "\(verb) \(download.name).part: \(ByteText.count(bytes))"
        case .recordAlone: return "\(verb) \(download.name).resume, a record without its bytes"
        }
    }
}
