/// What makes a shell complete commands, options and their values, made from the commands' tables.
enum Completion: String, CaseIterable {
    case bash, zsh, fish

    /// The text that the shell reads.
    func script(_ commands: [CommandSyntax<some Any>]) -> String {
        switch self {
        case .bash: Self.bash(commands)
        case .zsh: Self.zsh(commands)
        case .fish: Self.fish(commands)
        }
    }

    /// Where nothing is known, bash completes the names of files.
    private static func bash(_ commands: [CommandSyntax<some Any>]) -> String {
        let cases = commands.flatMap { command in
            let options = command.options.filter { $0.placeholder != nil }
            let listed = options.filter { !$0.choices.isEmpty }
                .map { "\(pattern(command, $0))) words='\($0.choices.joined(separator: " "))' ;;" }
            let others = options.filter(\.choices.isEmpty).map { pattern(command, $0) }.joined(separator: "|")
            let names = command.options.flatMap(\.names).joined(separator: " ")
            return listed + (others.isEmpty ? [] : ["\(others)) ;;"]) + [
                "'\(command.name) '*) if [[ $word == -* ]]; then words='\(names)'; "
                    + "else words='\(command.choices.joined(separator: " "))'; fi ;;"
            ]
        }
        return """
            _purl() {
                local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]} words=
                # bash takes “=” for a word of its own.
                if [[ $word == = ]]; then word= ; elif [[ $last == = ]]; then last=${COMP_WORDS[COMP_CWORD - 2]}; fi
                if ((COMP_CWORD == 1)); then
                    words='\(commands.map(\.name).joined(separator: " ")) --help --version'
                else
                    case "${COMP_WORDS[1]} $last" in
            \(cases.map { "        " + $0 }.joined(separator: "\n"))
                    esac
                fi
                COMPREPLY=($(compgen -W "$words" -- "$word"))
            }
            complete -o bashdefault -o default -F _purl purl
            """
    }

    private static func pattern(_ command: CommandSyntax<some Any>, _ option: Option) -> String {
        option.names.map { "'\(command.name) \($0)'" }.joined(separator: "|")
    }

    private static func zsh(_ commands: [CommandSyntax<some Any>]) -> String {
        let list = commands.map { quoted($0.name + ":" + $0.summary) }.joined(separator: " ")
        let cases = commands.map { command in
            let options = command.options.map { option in
                let value = option.placeholder.map { ":\($0):\(action($0, option.choices))" } ?? ""
                let names = option.names.map { name in
                    value.isEmpty ? name : name + (name.hasPrefix("--") ? "=" : "+")
                }
                let description = option.summary.replacing("[", with: "\\[").replacing("]", with: "\\]")
                let others = option.isList ? "*" : "(\(option.names.joined(separator: " ")))"
                return names.map { quoted("\(others)\($0)[\(description)]\(value)") }.joined(separator: " ")
            }
            let operands =
                command.operands.isEmpty ? [] : [quoted("*:\(command.operands):\(action("FILE", command.choices))")]
            return "        \(command.name)) _arguments -s \((options + operands).joined(separator: " ")) ;;"
        }
        return """
            #compdef purl
            _purl() {
                local line state
                _arguments -C '1:command:->command' '*::argument:->argument'
                case $state in
                command) local -a commands=(\(list)); _describe command commands ;;
                argument)
                    case $line[1] in
            \(cases.joined(separator: "\n"))
                    esac ;;
                esac
            }
            if [[ $funcstack[1] == _purl ]]; then _purl "$@"; else compdef _purl purl; fi
            """
    }

    /// How zsh completes a value.
    private static func action(_ placeholder: String, _ choices: [String]) -> String {
        choices.isEmpty ? (isPath(placeholder) ? "_files" : " ") : "(\(choices.joined(separator: " ")))"
    }

    private static func fish(_ commands: [CommandSyntax<some Any>]) -> String {
        var lines = ["complete -c purl -f"]
        for command in commands {
            lines.append(
                "complete -c purl -n __fish_use_subcommand -a \(command.name) -d \(quoted(command.summary))")
            let start = "complete -c purl -n '__fish_seen_subcommand_from \(command.name)'"
            lines += command.options.map { option in
                let names = option.names.map { $0.hasPrefix("--") ? "-l \($0.dropFirst(2))" : "-s \($0.dropFirst())" }
                let choices = option.choices.isEmpty ? "" : " -a " + quoted(option.choices.joined(separator: " "))
                let value = option.placeholder.map { isPath($0) ? " -r -F" : " -x" + choices } ?? ""
                return "\(start) \(names.joined(separator: " "))\(value) -d \(quoted(option.summary))"
            }
            if !command.choices.isEmpty {
                lines.append("\(start) -a \(quoted(command.choices.joined(separator: " ")))")
            } else if isPath(command.operands) {
                lines.append("\(start) -F")
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Whether a placeholder stands for the name of a file or a folder.
    private static func isPath(_ placeholder: String) -> Bool {
        ["FILE", "FOLDER", "SCRIPT"].contains { placeholder.contains($0) }
    }

    /// A word for a shell.
    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "'\\''") + "'"
    }
}
