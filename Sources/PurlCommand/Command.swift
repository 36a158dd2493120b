/// The command that the arguments name, with what they mean.
enum Command: Equatable {
    /// Help, the version, a shell's completions or the manual.
    case print(String)
    case get(GetOptions)
    case put(PutOptions)
    case list(FolderOptions)
    case clean(FolderOptions)
    case ws(WebSocketOptions)
    case serve(ServeOptions)
    case demo(DemoOptions)
    case trace(TraceOptions)

    /// The version that `--version` prints.
    static let version = "1.0"

    /// Every command, in the order in which help lists them.
    static var all: [CommandSyntax<Command>] { transfers + [completion, help] }

    private static var transfers: [CommandSyntax<Command>] {
        [
            GetOptions.syntax.map(Command.get), PutOptions.syntax.map(Command.put),
            FolderOptions.list.map(Command.list), FolderOptions.clean.map(Command.clean),
            WebSocketOptions.syntax.map(Command.ws), ServeOptions.syntax.map(Command.serve),
            DemoOptions.syntax.map(Command.demo), TraceOptions.syntax.map(Command.trace),
        ]
    }

    private static let text = """
        Downloads files over HTTP and HTTPS, and resumes interrupted downloads. Uploads files, and resumes uploads too. Exchanges
        WebSocket messages.
        """

    /// - Parameter arguments: The words after the program's name.
    init(arguments: [String]) throws(UsageError) {
        switch arguments.first {
        case nil: self = .print(HelpText.overview(Self.all, text: Self.text))
        case "--version": self = .print("purl \(Self.version)")
        case let first?:
            let syntax = try Self.syntax(of: ["-h", "--help"].contains(first) ? "help" : first)
            self = try syntax.parse(Array(arguments.dropFirst())) ?? .print(HelpText.of(syntax))
        }
    }

    private static func syntax(of name: String) throws(UsageError) -> CommandSyntax<Command> {
        let all = all
        if let syntax = all.first(where: { $0.name == name }) { return syntax }
        let nearest = NearestName.of(name, among: all.map(\.name) + ["--help", "--version"])
        throw UsageError("There is no command “\(name)”", nearest: nearest)
    }

    // MARK: Commands that only print

    private struct HelpOptions {
        var isManual = false
    }

    private static var help: CommandSyntax<Command> {
        CommandSyntax(
            "help", "[COMMAND]", choices: transfers.map(\.name) + ["completion"], "explain a command",
            text: "Explains COMMAND, or lists the commands.",
            rows: [
                .flag(
                    "--man", \HelpOptions.isManual, true,
                    """
                    print the manual page of all commands, for man: purl help --man > ~/.local/share/man/man1/purl.1
                    """)
            ]
        ) { words throws(UsageError) in
            let options = try words.applied(to: HelpOptions())
            let name = try words.operand("command")
            if options.isManual { return .print(ManualPage.text(all, text: text, version: version)) }
            return .print(
                try name.map { name throws(UsageError) in HelpText.of(try syntax(of: name)) }
                    ?? HelpText.overview(all, text: text))
        }
    }

    private static var completion: CommandSyntax<Command> {
        let shells = Completion.allCases.map(\.rawValue)
        return CommandSyntax(
            "completion", "SHELL", choices: shells, "print what makes a shell complete commands and options",
            text: """
                Prints what makes SHELL complete commands, options and their values: bash, zsh or fish. It is read when a
                shell starts:

                  bash  purl completion bash > \\
                          ~/.local/share/bash-completion/completions/purl
                  zsh   purl completion zsh > FOLDER/_purl, a folder of $fpath
                  fish  purl completion fish > ~/.config/fish/completions/purl.fish
                """,
            rows: [] as [OptionRow<Void>]
        ) { words throws(UsageError) in
            guard let name = try words.operand("shell"), let shell = Completion(rawValue: name) else {
                throw words.error("“completion” needs the name of a shell: bash, zsh or fish.")
            }
            return .print(shell.script(all))
        }
    }
}
