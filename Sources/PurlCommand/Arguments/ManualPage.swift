/// The manual page, made from the commands' tables: text for `man` and `groff -man`.
enum ManualPage {
    /// - Parameters:
    ///   - text: What the program does, in paragraphs.
    ///   - version: The version of the program.
    static func text(_ commands: [CommandSyntax<some Any>], text: String, version: String) -> String {
        var lines = [
            ".TH PURL 1 \"\" \"purl \(version)\" \"User Commands\"",
            ".SH NAME", "purl \\- load files over HTTP, and resume what was interrupted",
            ".SH SYNOPSIS", ".B purl", ".I COMMAND", "[\\fIoption\\fR]… [\\fIargument\\fR]…",
            ".SH DESCRIPTION",
        ]
        lines += body(text) + [".SH COMMANDS"]
        for command in commands { lines += section(command) }
        return lines.joined(separator: "\n")
    }

    private static func section(_ command: CommandSyntax<some Any>) -> [String] {
        var lines = [".SS \(escaped(command.usage[0]))"] + body(command.text)
        for option in command.options where option != .help {
            let names = option.names.map { "\\fB\(escaped($0))\\fR" }.joined(separator: ", ")
            lines += [
                ".TP", names + (option.placeholder.map { " \\fI\(escaped($0))\\fR" } ?? ""), escaped(option.help),
            ]
        }
        return lines + body(command.notes)
    }

    private static func body(_ text: String) -> [String] {
        Paragraph.all(in: text).flatMap { paragraph in
            switch paragraph {
            case .filled(let text): [".PP", escaped(text)]
            case .lines(let lines): [".PP", ".nf"] + lines.map(escaped) + [".fi"]
            }
        }
    }

    /// The text without what `groff` would take for a request.
    private static func escaped(_ text: String) -> String {
        text.split(separator: "\n").map { line in
            let line = line.replacing("\\", with: "\\e").replacing("-", with: "\\-")
            return line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
        }.joined(separator: "\n")
    }
}
