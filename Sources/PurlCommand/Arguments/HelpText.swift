/// Help, made from the commands' tables, for a terminal of 80 columns.
enum HelpText {
    private static let width = 80
    /// Longer names have a line of their own.
    private static let widestNames = 26

    /// The list of commands.
    ///
    /// - Parameter text: What the program does, in paragraphs.
    static func overview(_ commands: [CommandSyntax<some Any>], text: String) -> String {
        let column = (commands.map(\.name.count).max() ?? 0) + 4
        let list = commands.flatMap { entry("  " + $0.name, $0.summary, column: column) }
        let end = "“purl help COMMAND” explains a command, “purl --version” (-V) prints the version."
        return ([["usage: purl COMMAND …"], body(text), list, body(end)] as [[String]])
            .map { $0.joined(separator: "\n") }.joined(separator: "\n\n")
    }

    /// What a command does.
    static func of(_ command: CommandSyntax<some Any>) -> String {
        let usage = filled(
            command.usage, width: width, first: "usage: ", rest: String(repeating: " ", count: 12 + command.name.count))
        let names = command.options.map(names)
        let column = (names.map(\.count).filter { $0 <= widestNames }.max() ?? 0) + 2
        let options = zip(names, command.options).flatMap { entry($0, $1.help, column: column) }
        return ([usage, body(command.text), options, body(command.notes)] as [[String]])
            .filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n\n")
    }

    /// “  -o, --output FILE”, with room for a short name where there is none.
    private static func names(_ option: Option) -> String {
        let indent = option.names.first?.hasPrefix("--") == true ? "      " : "  "
        return ([indent + option.list, option.placeholder] as [String?]).compactMap(\.self).joined(separator: " ")
    }

    private static func entry(_ name: String, _ text: String, column: Int) -> [String] {
        let blank = String(repeating: " ", count: column)
        guard name.count + 2 <= column else { return [name] + filled([text], width: width, first: blank, rest: blank) }
        let first = name + String(repeating: " ", count: column - name.count)
        return filled([text], width: width, first: first, rest: blank)
    }

    private static func body(_ text: String) -> [String] {
        Array(
            Paragraph.all(in: text).map { paragraph in
                switch paragraph {
                case .filled(let text): filled([text], width: width, first: "", rest: "")
                case .lines(let lines): lines
                }
            }.joined(separator: [""]))
    }

    /// Lines of at most `width` columns.
    ///
    /// - Parameter pieces: Texts that are broken between words; or, if there are several, between them.
    private static func filled(_ pieces: [String], width: Int, first: String, rest: String) -> [String] {
        let words =
            pieces.count > 1 ? pieces : pieces.flatMap { $0.split(whereSeparator: \.isWhitespace).map(String.init) }
        var lines: [String] = []
        var line = first
        var isEmpty = true
        for word in words {
            if !isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                (line, isEmpty) = (rest, true)
            }
            line += isEmpty ? word : " " + word
            isEmpty = false
        }
        return isEmpty ? lines : lines + [line]
    }
}

/// A paragraph of a help text.
enum Paragraph: Equatable {
    /// It is broken where the lines are full.
    case filled(String)
    /// Its lines stay as they are.
    case lines([String])

    /// The paragraphs of a text, between which there are empty lines. One that begins with spaces keeps its lines.
    static func all(in text: String) -> [Paragraph] {
        text.split(separator: "\n\n").map { text in
            guard text.hasPrefix(" ") else { return .filled(String(text)) }
            return .lines(text.split(separator: "\n").map(String.init))
        }
    }
}

extension CommandSyntax {
    /// “purl get URL…”, “[-o FILE]”, “[--sha256 HEX | --check FILE]”, …
    var usage: [String] {
        var rest = options.filter { $0 != .help }
        var pieces = [operands.isEmpty ? "purl \(name)" : "purl \(name) \(operands)"]
        while let option = rest.first {
            let group = rest.filter { $0 == option || $0.contradicts(option) }
            rest.removeAll(where: group.contains)
            let words = group.map {
                ([$0.names.first, $0.placeholder] as [String?]).compactMap(\.self).joined(separator: " ")
            }
            pieces.append("[\(words.joined(separator: " | "))]" + (option.isList ? "…" : ""))
        }
        return pieces
    }
}
