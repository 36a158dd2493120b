import Foundation
import Testing

@testable import PurlCommand

@Suite("Help, completions and the manual")
struct HelpTests {
    private static func text(_ words: String...) throws -> String {
        guard case .print(let text) = try Command(arguments: words) else { return "" }
        return text
    }

    @Test("-h and --help anywhere before “--” ask for a command's help", arguments: Command.all.map(\.name))
    func asking(name: String) throws {
        let help = try Self.text("help", name)
        #expect(help.hasPrefix("usage: purl \(name)"))
        for words in [["--help"], ["-h"], ["x", "--help"], ["-h", "--nonsense"]] {
            #expect(try Command(arguments: [name] + words) == .print(help))
        }
    }

    @Test("the list of commands has each of them; help without a command prints it", arguments: [[], ["help"], ["-h"]])
    func overview(words: [String]) throws {
        guard case .print(let text) = try Command(arguments: words) else {
            Issue.record("no text")
            return
        }
        for command in Command.all { #expect(text.contains("  \(command.name)")) }
        #expect(try Command(arguments: ["--help", "get"]) == Command(arguments: ["help", "get"]))
        #expect(try Self.text("--version") == "purl 1.0-dev")
        #expect(try Self.text("-V") == "purl 1.0-dev")
    }

    @Test("no line of help has more than 80 columns", arguments: [""] + Command.all.map(\.name))
    func width(name: String) throws {
        let text = name.isEmpty ? try Self.text("help") : try Self.text("help", name)
        for line in text.split(separator: "\n") { #expect(line.count <= 80) }
    }

    @Test("usage and help of a command are those of its table")
    func layout() {
        struct Values {
            var count = 0
            var names: [String] = []
            var isQuiet = false
        }
        let syntax = CommandSyntax(
            "try", "FILE", "try a table", text: "Tries\nFILE.\n\n  as it\n  is",
            rows: [
                .value(
                    "-n, --count", "N", \Values.count, OptionValue.number(in: 1...9), "how often; at least once (1)"),
                .list("--a-name-of-some-length", "NAME", \.names, OptionValue.text, "a name"),
                .flag("-q, --quiet", \.isQuiet, true, not: "--count", "say nothing"),
            ], notes: "Exit status: 0."
        ) { words throws(UsageError) in try words.applied(to: Values()) }
        #expect(
            HelpText.of(syntax) == """
                usage: purl try FILE [-n N | -q] [--a-name-of-some-length NAME]…

                Tries FILE.

                  as it
                  is

                  -n, --count N  how often; at least once (1)
                      --a-name-of-some-length NAME
                                 a name
                  -q, --quiet    say nothing
                  -h, --help     print this help

                Exit status: 0.
                """)
        #expect(syntax.options.map(\.summary) == ["how often", "a name", "say nothing", "print this help"])
    }

    @Test("an option contradicts one of its own table, and no name is used twice", arguments: Command.all.map(\.name))
    func tables(name: String) throws {
        let options = try #require(Command.all.first { $0.name == name }).options
        let names = options.flatMap(\.names)
        #expect(Set(names).count == names.count)
        for option in options {
            #expect(option.alternative.map(names.contains) != false)
            #expect(option.names.allSatisfy { $0.hasPrefix("--") ? $0.count > 3 : $0.count == 2 })
            #expect(!option.summary.isEmpty && !option.help.hasSuffix("."))
        }
    }

    @Test(
        "finds the name that a word may be meant as",
        arguments: [
            ("gte", "get"), ("egt", "get"), ("GET", "get"), ("ls", "list"), ("lst", "list"), ("cln", "clean"),
            ("--get", "get"), ("comp", "completion"), ("tarce", "trace"), ("fetch", nil), ("rm", nil), ("", nil),
            ("x", nil), ("download", nil),
        ])
    func nearest(word: String, name: String?) {
        let names = ["get", "put", "list", "clean", "ws", "serve", "demo", "trace", "completion", "help"]
        #expect(NearestName.of(word, among: names) == name)
    }

    @Test(
        "standard output that takes nothing is an error",
        arguments: [
            ("help", ">/dev/full", "purl: Standard output cannot be written: No space left on device."),
            ("help", ">&-", "purl: Standard output cannot be written: "),
            ("list --json nowhere", ">/dev/full", "purl: Standard output cannot be written: No space left on device."),
            ("list", ">/dev/null", nil),
        ])
    func unwritable(words: String, redirection: String, start: String?) async throws {
        let folder = TemporaryFolder()
        let process = try PurlProcess(
            shell: "{ \"$0\" \(words) \(redirection); echo $? >&3; } 2>&1 3>&1", [], in: folder)
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        #expect(lines.last == (start == nil ? "0" : "1"), "\(lines)")
        #expect(start.map { lines.first?.hasPrefix($0) == true } ?? (lines.count == 1), "\(lines)")
    }

    // MARK: Completions and the manual

    /// Whether a program can be found by its name.
    private static func isInstalled(_ program: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
        }
    }

    /// Runs a program with a text as its input.
    private func run(_ program: String, _ arguments: [String], input: String) async throws -> [String] {
        let folder = TemporaryFolder()
        try folder.write(input, to: "input")
        let process = try PurlProcess(shell: "\(program) \"$@\" <input 2>&1", arguments, in: folder)
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        return lines
    }

    @Test(
        "bash completes commands, options and their values", .enabled(if: isInstalled("bash"), "bash is not installed"),
        arguments: [
            ("p", ["put"]), ("get --out", ["--output"]), ("put -X P", ["PUT", "POST", "PATCH"]),
            ("completion f", ["fish"]), ("list --a", []), ("clean --a", ["--all"]), ("get -P ", []), ("help w", ["ws"]),
            ("help man", ["manual"]), ("put --method = PU", ["PUT"]), ("put --method =", ["PUT", "POST", "PATCH"]),
        ])
    func bash(line: String, words: [String]) async throws {
        let given = line.split(separator: " ", omittingEmptySubsequences: false).joined(separator: "\" \"")
        let script = """
            \(try Self.text("completion", "bash"))
            COMP_WORDS=(purl "\(given)"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _purl; printf '%s\\n' "${COMPREPLY[@]}"
            """
        let lines = try await run("bash", ["-s"], input: script)
        #expect(lines.filter { !$0.isEmpty } == words)
    }

    @Test(
        "fish completes commands, options and their values", .enabled(if: isInstalled("fish"), "fish is not installed"),
        arguments: [
            ("pu", ["put"]), ("get --out", ["--output"]), ("put -X P", ["PATCH", "POST", "PUT"]),
            ("completion f", ["fish"]), ("list --a", []), ("clean --a", ["--all"]), ("help w", ["ws"]),
        ])
    func fish(line: String, words: [String]) async throws {
        let script = "\(try Self.text("completion", "fish"))\ncomplete -C 'purl \(line)'"
        let lines = try await run("fish", ["--no-config"], input: script)
        #expect(lines.map { String($0.prefix { $0 != "\t" }) } == words)
    }

    @Test(
        "zsh completes commands, options and their values", .enabled(if: isInstalled("zsh"), "zsh is not installed"),
        arguments: [
            ("p", ["put"]), ("get --out", ["--output"]), ("put -X P", ["PATCH", "POST", "PUT"]),
            ("put --method=PU", ["PUT"]), ("completion f", ["fish"]), ("list --a", []), ("clean --a", ["--all"]),
            ("get -P ", []), ("get --no-res", ["--no-resume"]), ("get --no-resume --no-res", []),
            ("get -H a --head", ["--header"]), ("get -o i", ["input"]), ("check i", ["input"]), ("help w", ["ws"]),
        ])
    func zsh(line: String, words: [String]) async throws {
        // A shell on a terminal of its own completes the line as if it had been typed, and keeps the words that it finds.
        let script = """
            cat >setup <<'END'
            # Without the completions of other commands: to look into a thousand files for them takes half a second.
            all=($fpath) _compdir=
            fpath=(${(M)fpath:#*/(Completion|Base)})
            (($#fpath)) || fpath=($all)
            autoload -U compinit
            compinit -u -D
            fpath=($all)
            autoload -Uz -- $^fpath/_*(N:t)
            \(try Self.text("completion", "zsh"))
            compadd() {
                local -a words
                if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\\ * ]]; then
                    builtin compadd -A words "$@"
                    print -rl -- $words >>found
                fi
                builtin compadd "$@"
            }
            zle-line-init() { BUFFER='purl \(line)'; CURSOR=$#BUFFER LISTMAX=999; zle list-choices; exit }
            zle -N zle-line-init
            END
            : >found
            zmodload zsh/zpty
            zpty shell zsh -f -i
            zpty -w shell 'source ./setup'
            while zpty -r shell text; do :; done
            sort -u found
            """
        let lines = try await run("zsh", ["-f"], input: script)
        #expect(lines.filter { !$0.isEmpty } == words)
    }

    @Test("zsh and fish learn what an option does, and whether its value is a file")
    func descriptions() throws {
        let (zsh, fish) = (try Self.text("completion", "zsh"), try Self.text("completion", "fish"))
        #expect(
            zsh.contains(
                "'(-o --output)-o+[save as FILE]:FILE:_files' '(-o --output)--output=[save as FILE]:FILE:_files'"))
        #expect(zsh.contains("'*--header=[add a header field, '\\''Name"))
        #expect(
            zsh.contains(
                "'(--json)--json[print what happens as lines of JSON on standard output, for other programs, and no messages]'"
            ))
        #expect(
            fish.contains(
                "complete -c purl -n '__fish_seen_subcommand_from get' -s o -l output -r -F -d 'save as FILE'"))
        #expect(fish.contains("-s X -l method -x -a 'PUT POST PATCH' -d"))
    }

    @Test(
        "help names an option in the same way everywhere, and only options that there are",
        arguments: Command.all.map(\.name))
    func mentions(name: String) throws {
        let command = try #require(Command.all.first { $0.name == name })
        let all = Command.all.flatMap(\.options)
        let texts = [command.text, command.notes] + command.options.map(\.help)
        for text in texts {
            for match in text.matches(of: /(?:^|[\s“(,:])(-{1,2}[A-Za-z][A-Za-z0-9-]*)/) {
                let word = String(match.1)
                let option = try #require(
                    command.options.first { $0.names.contains(word) } ?? all.first { $0.names.contains(word) },
                    "\(word)")
                #expect(option.names.first == word)
            }
        }
    }

    private func expectNoComplaint(of shell: String) async throws {
        let script = try Self.text("completion", shell)
        #expect(script.contains("timestamping"))
        #expect(try await run(shell, ["-n"], input: script).isEmpty)
    }

    @Test("bash reads its completions without a complaint", .enabled(if: isInstalled("bash"), "bash is not installed"))
    func bashSyntax() async throws { try await expectNoComplaint(of: "bash") }

    @Test("zsh reads its completions without a complaint", .enabled(if: isInstalled("zsh"), "zsh is not installed"))
    func zshSyntax() async throws { try await expectNoComplaint(of: "zsh") }

    @Test("fish reads its completions without a complaint", .enabled(if: isInstalled("fish"), "fish is not installed"))
    func fishSyntax() async throws { try await expectNoComplaint(of: "fish") }

    @Test("the manual page has every option")
    func manual() throws {
        let page = try Self.text("manual")
        #expect(page.hasPrefix(".TH PURL 1"))
        #expect(page.contains("\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR"))
    }

    @Test(
        "groff formats the manual page without a complaint",
        .enabled(if: isInstalled("groff"), "groff is not installed"))
    func formattedManual() async throws {
        let page = try Self.text("manual")
        let lines = try await run("groff", ["-man", "-Kutf8", "-Tutf8", "-ww", "-P-cbou"], input: page)
        let text = lines.joined(separator: "\n")
        #expect(!text.contains("warning") && !text.contains("error:"))
        for command in Command.all { #expect(text.contains("purl \(command.name)")) }
    }
}
