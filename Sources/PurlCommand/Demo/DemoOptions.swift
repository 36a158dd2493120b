/// The arguments of `purl demo`.
struct DemoOptions: Equatable {
    /// Where what happens is recorded.
    private(set) var trace: TraceFile?

    static var syntax: CommandSyntax<DemoOptions> {
        CommandSyntax(
            "demo", "", "show how a download is cut off and resumed, without a network",
            text: """
                Starts a server on this machine, downloads 64 MiB from it, is cut off, resumes, is paused, resumes, and
                compares the file's SHA-256 with the server's. Uses no network.
                """,
            rows: [OptionRow<DemoOptions>.trace(\.trace, "record what happens, as purl get does: --trace film.svg")]
        ) { words throws(UsageError) in
            try words.checkNoOperands()
            return try words.applied(to: DemoOptions())
        }
    }
}
