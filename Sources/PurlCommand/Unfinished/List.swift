/// `purl list`: shows what is unfinished.
struct List {
    private let options: FolderOptions
    private let output: Console
    private let errors: Console

    /// - Parameters:
    ///   - output: Where the table goes.
    ///   - errors: Where complaints go.
    init(_ options: FolderOptions, output: Console, errors: Console) {
        self.options = options
        self.output = output
        self.errors = errors
    }

    func run() -> ExitCode {
        let (downloads, code) = options.unfinished(errors)
        let lines = UnfinishedTable.lines(downloads)
        if lines.isEmpty, code == .success { output.say("Nothing is unfinished.") }
        for line in lines { output.say(line) }
        return code
    }
}

extension FolderOptions {
    /// What lies in the folders; a failure when one of them cannot be looked into.
    func unfinished(_ errors: Console) -> ([UnfinishedDownload], ExitCode) {
        var all: [UnfinishedDownload] = []
        var code = ExitCode.success
        for folder in folders {
            do throws(CommandFailure) {
                let prefix = folders == ["."] ? "" : folder.hasSuffix("/") ? folder : folder + "/"
                all += try UnfinishedDownload.all(in: folder, prefix: prefix)
            } catch {
                errors.say("purl: \(error.sentence)")
                code = .failure
            }
        }
        return (all, code)
    }
}
