import Foundation

/// The arguments of `purl list` and `purl clean`.
struct FolderOptions: Equatable {
    /// The folders to search.
    private(set) var folders: [String] = []
    /// `clean` also removes partial files without a record.
    private(set) var includesUnknown = false
    /// `clean` only prints what would be removed.
    private(set) var isDryRun = false

    /// - Parameters:
    ///   - arguments: The words after the command.
    ///   - flags: The options that the command accepts.
    ///   - topic: The help text to print with an error.
    init(arguments: [String], flags: Set<String>, _ topic: Usage) throws(UsageError) {
        var onlyFoldersFollow = false
        for word in arguments {
            if onlyFoldersFollow || !word.hasPrefix("-") {
                guard !word.isEmpty else { throw UsageError("A folder's name cannot be empty.", topic) }
                folders.append(word)
                continue
            }
            switch word {
            case "--": onlyFoldersFollow = true
            case "--all" where flags.contains(word): includesUnknown = true
            case "--dry-run" where flags.contains(word): isDryRun = true
            default: throw UsageError("There is no option “\(word)”.", topic)
            }
        }
        if folders.isEmpty { folders = ["."] }
    }
}

extension FolderOptions {
    /// The unfinished downloads and uploads in the folders. The exit code is a failure when a folder cannot be read.
    func unfinished(
        _ errors: Console
    ) -> (downloads: [UnfinishedDownload], uploads: [UnfinishedUpload], code: ExitCode) {
        var downloads: [UnfinishedDownload] = []
        var uploads: [UnfinishedUpload] = []
        var code = ExitCode.success
        for folder in folders {
            do throws(CommandFailure) {
                let prefix = folders == ["."] ? "" : folder.hasSuffix("/") ? folder : folder + "/"
                downloads += try UnfinishedDownload.all(in: folder, prefix: prefix)
                uploads += UnfinishedUpload.all(in: URL(fileURLWithPath: folder, isDirectory: true), prefix: prefix)
            } catch {
                errors.print("purl: \(error.sentence)")
                code = .failure
            }
        }
        return (downloads, uploads, code)
    }
}
