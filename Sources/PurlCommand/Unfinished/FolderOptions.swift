import Foundation

/// The arguments of `purl list` and `purl clean`.
struct FolderOptions: Equatable {
    /// The folders to search.
    private(set) var folders: [String] = []
    /// `clean` also removes partial files without a record.
    private(set) var includesUnknown = false
    /// `clean` only prints what would be removed.
    private(set) var isDryRun = false
    /// Whether events are printed in place of messages.
    private(set) var printsEvents = false
    /// How `clean` reaches the servers of uploads.
    private(set) var tls = TLSOptions()

    private init(_ words: ParsedWords<Self>) throws(UsageError) {
        self = try words.applied(to: self)
        try tls.check(words)
        guard !words.operands.contains("") else { throw words.error("A folder's name cannot be empty.") }
        folders = words.operands.isEmpty ? ["."] : words.operands
    }

    private init() {}
}

extension FolderOptions {
    /// The syntax of `purl list`.
    static var list: CommandSyntax<FolderOptions> {
        CommandSyntax(
            "list", "[FOLDER]…", "show unfinished downloads and uploads",
            text: """
                Shows the unfinished downloads in each FOLDER (default: the current folder): the name, the progress, the URL,
                and whether a transfer is writing it now. A .part file without a valid record is listed by its own name.
                Unfinished uploads follow: the name, the length, and the URL.
                """,
            rows: [.json(\.printsEvents)],
            notes: "Exit status: 0 also when there are none, 1 a folder cannot be read, 2 usage."
        ) { words throws(UsageError) in try FolderOptions(words) }
    }

    /// The syntax of `purl clean`.
    static var clean: CommandSyntax<FolderOptions> {
        CommandSyntax(
            "clean", "[FOLDER]…", "remove unfinished downloads, and give unfinished uploads up",
            text: """
                Removes the unfinished downloads in each FOLDER (default: the current folder): FILE.part and its FILE.resume.
                Files that a transfer is writing now are kept. Gives unfinished uploads up: asks the server to delete what it has
                of them, says what it answered, and removes FILE.upload, also where the server cannot be reached or refuses.
                """,
            rows: [
                .flag(
                    "--all", \.includesUnknown, true,
                    "also remove a FILE.part without a record, which may be another program's"),
                .flag("-n, --dry-run", \.isDryRun, true, "print what would be removed, and remove nothing"),
                .json(\.printsEvents),
            ] + OptionRow.tls(\.tls),
            notes: """
                Exit status: 0 removed, 1 a file was kept because it is being written, sent, or cannot be removed, 2 usage.
                """
        ) { words throws(UsageError) in try FolderOptions(words) }
    }
}

extension FolderOptions {
    /// The unfinished downloads and uploads in the folders. The exit code is a failure when a folder cannot be read.
    func unfinished(
        _ errors: MessagePrinter
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
                errors.error(error.sentence)
                code = .failure
            }
        }
        return (downloads, uploads, code)
    }
}
