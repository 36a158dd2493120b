/// The command that the arguments name, with what they mean.
enum Command: Equatable {
    /// Help, the version, a shell's completions or the manual.
    case print(String)
    case get(GetOptions)
    case put(PutOptions)
    case list(FolderOptions)
    case clean(FolderOptions)
    case check(CheckOptions)
    case ws(WebSocketOptions)
    case serve(ServeOptions)
    case demo(DemoOptions)
    case trace(TraceOptions)

    /// Whether it prints events in place of messages.
    var printsEvents: Bool {
        switch self {
        case .get(let options): options.printsEvents
        case .put(let options): options.printsEvents
        case .list(let options), .clean(let options): options.printsEvents
        case .check(let options): options.printsEvents
        case .ws(let options): options.printsEvents
        case .print, .serve, .demo, .trace: false
        }
    }

    /// The version that `--version` prints.
    static let version = "1.0-dev"

    /// Every command, in the order in which help lists them.
    static var all: [CommandSyntax<Command>] { transfers + [completion, manual, help] }

    private static var transfers: [CommandSyntax<Command>] {
        [
            GetOptions.syntax.map(Command.get), PutOptions.syntax.map(Command.put),
            FolderOptions.list.map(Command.list), FolderOptions.clean.map(Command.clean),
            CheckOptions.syntax.map(Command.check),
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
        case "-V", "--version": self = .print("purl \(Self.version)")
        case let first? where first.hasPrefix("-") && !["-h", "--help"].contains(first):
            // `purl -v get URL`
            let all = Self.all
            let given = arguments.first { name in all.contains { $0.name == name } }
            // “-v” alone asks for the version.
            let owner =
                OtherNames.command(first) == nil
                ? all.first { $0.options.contains { $0.names.contains(first) } }?.name : nil
            guard let command = given ?? owner else { throw Self.unknown(first) }
            throw UsageError("Options follow the command, as in “purl \(command) \(first)”.", command)
        case let first?:
            let syntax = try Self.syntax(of: ["-h", "--help"].contains(first) ? "help" : first)
            self = try syntax.parse(Array(arguments.dropFirst())) ?? .print(HelpText.of(syntax))
        }
    }

    private static func syntax(of name: String) throws(UsageError) -> CommandSyntax<Command> {
        let all = all
        guard let syntax = all.first(where: { $0.name == name }) else { throw unknown(name) }
        return syntax
    }

    private static func unknown(_ name: String) -> UsageError {
        let nearest =
            (URLWord.url(name)?.shownText ?? URLWord.nearest(name)).map { "purl get \($0)" } ?? OtherNames.command(name)
            ?? NearestName.of(name, among: all.map(\.name) + ["--help", "--version"])
        return UsageError("There is no command “\(name)”", nearest: nearest)
    }

    // MARK: Commands that only print

    private static var help: CommandSyntax<Command> {
        CommandSyntax(
            "help", "[COMMAND]", choices: (transfers + [completion, manual]).map(\.name), "explain a command",
            text: "Explains COMMAND, or lists the commands.",
            rows: [] as [OptionRow<Void>]
        ) { words throws(UsageError) in
            let name = try words.operand("command")
            return .print(
                try name.map { name throws(UsageError) in HelpText.of(try syntax(of: name)) }
                    ?? HelpText.overview(all, text: text))
        }
    }

    private static var manual: CommandSyntax<Command> {
        CommandSyntax(
            "manual", "", "print the manual page, for man",
            text: """
                Prints the manual page of all commands, in the form that man reads:

                  purl manual > ~/.local/share/man/man1/purl.1
                """,
            rows: [] as [OptionRow<Void>]
        ) { words throws(UsageError) in
            try words.checkNoOperands()
            return .print(ManualPage.text(all, text: text, version: version))
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
