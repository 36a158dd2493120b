/// A command, as a table: parsing, help, completions and the manual are made from it.
///
/// - Parameter Arguments: What its words mean.
struct CommandSyntax<Arguments> {
    let name: String
    /// What stands for its words that are not options: “FILE URL”.
    let operands: String
    /// The words there are for the first operand, where they can be listed.
    let choices: [String]
    /// What it does, in a line.
    let summary: String
    /// What it does, in paragraphs. A paragraph that begins with spaces keeps its lines.
    let text: String
    let options: [Option]
    /// Paragraphs after the options, among them the exit status.
    let notes: String
    /// The arguments that the words after the command's name are; `nil` when they ask for help.
    let parse: ([String]) throws(UsageError) -> Arguments?

    /// - Parameters:
    ///   - rows: The options, in the order in which help lists them.
    ///   - make: What the words mean.
    init<Values>(
        _ name: String, _ operands: String, choices: [String] = [], _ summary: String, text: String,
        rows: [OptionRow<Values>], notes: String = "",
        make: @escaping (ParsedWords<Values>) throws(UsageError) -> Arguments
    ) {
        (self.name, self.operands, self.choices, self.summary) = (name, operands, choices, summary)
        (self.text, self.notes) = (text, notes)
        options = rows.map(\.option) + [.help]
        parse = { words throws(UsageError) in
            let words = try ParsedWords(words, of: name, rows)
            return words.asksForHelp ? nil : try make(words)
        }
    }

    private init<Other>(_ other: CommandSyntax<Other>, parse: @escaping ([String]) throws(UsageError) -> Arguments?) {
        (name, operands, choices, summary) = (other.name, other.operands, other.choices, other.summary)
        (text, options, notes) = (other.text, other.options, other.notes)
        self.parse = parse
    }

    /// The same syntax, of something that is made from the arguments.
    func map<Result>(
        _ transform: @escaping (Arguments) throws(UsageError) -> Result
    ) -> CommandSyntax<Result> {
        CommandSyntax<Result>(self) { words throws(UsageError) in
            guard let arguments = try parse(words) else { return nil }
            return try transform(arguments)
        }
    }
}

/// The words after a command's name, divided into options and operands by the command's table.
///
/// As with other programs, a value is the next word or follows a “=” (`--retry 3`, `--retry=3`), or a short name directly
/// (`-P2`); short names without a value can be joined (`-Nq`), and after “--” every word is an operand.
struct ParsedWords<Values> {
    private struct Setting {
        /// The option's name as it was given.
        let name: String
        let row: OptionRow<Values>
        let value: String
    }

    private(set) var operands: [String] = []
    private(set) var asksForHelp = false
    private var settings: [Setting] = []
    private let command: String

    init(_ words: [String], of command: String, _ rows: [OptionRow<Values>]) throws(UsageError) {
        self.command = command
        let rows = rows + [OptionRow(option: .help) { _, _ throws(BadValue) in }]
        var rest = words[...]
        while let word = rest.popFirst(), !asksForHelp {
            if word == "--" {
                operands += rest
                return
            } else if word.hasPrefix("--") {
                let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                try take(parts[0], in: word, rows, attached: parts.dropFirst().first, &rest)
            } else if word.hasPrefix("-"), word != "-" {
                try takeShortNames(word, rows, &rest)
            } else {
                if let name = Self.withoutOtherDashes(word), rows.contains(where: { $0.option.names.contains(name) }) {
                    throw UsageError("“\(word)” begins with another dash than “-”", nearest: name, command)
                }
                operands.append(word)
            }
        }
    }

    /// An option's name whose hyphens a text editor has replaced: “–o”, “—output”; `nil` for any other word.
    private static func withoutOtherDashes(_ word: String) -> String? {
        let name = word.drop { "–—−".contains($0) }
        guard name.count < word.count else { return nil }
        return (name.count == 1 ? "-" : "--") + name.prefix { $0 != "=" }
    }

    /// Takes “-q”, “-Nq”, “-P2” or “-NP2”.
    private mutating func takeShortNames(
        _ word: String, _ rows: [OptionRow<Values>], _ rest: inout ArraySlice<String>
    ) throws(UsageError) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst(), !asksForHelp {
            let name = "-\(letter)"
            let takesRest = rows.contains { $0.option.names.contains(name) && $0.option.placeholder != nil }
            let value = takesRest && !letters.isEmpty ? String(letters) : nil
            try take(name, in: word, rows, attached: value, &rest)
            if takesRest { return }
        }
    }

    /// Takes an option, with its value from `rest` unless one is attached to it.
    private mutating func take(
        _ name: String, in word: String, _ rows: [OptionRow<Values>], attached: String?,
        _ rest: inout ArraySlice<String>
    ) throws(UsageError) {
        guard let row = rows.first(where: { $0.option.names.contains(name) }) else {
            // “-retry” may be meant as one name.
            let whole = word.hasPrefix(name) ? String(word.prefix { $0 != "=" }) : name
            let names = rows.flatMap(\.option.names)
            if let fact = OtherNames.instead(of: name, in: command) { throw error(fact) }
            let nearest = OtherNames.option(name, among: names) ?? NearestName.of(whole, among: names)
            throw UsageError("There is no option “\(nearest == nil ? name : whole)”", nearest: nearest, command)
        }
        if row.option == .help {
            asksForHelp = true
            return
        }
        if let other = settings.first(where: { $0.row.option.contradicts(row.option) }) {
            throw error("Give either “\(other.name)” or “\(name)”.")
        }
        var value = ""
        if row.option.placeholder == nil {
            if attached != nil { throw error("“\(name)” takes no value.") }
        } else {
            guard let given = attached ?? rest.popFirst() else { throw error("“\(name)” needs a value.") }
            if !row.option.isList, settings.contains(where: { $0.row.option == row.option }) {
                throw error("“\(row.option.list)” was given twice.")
            }
            value = given
        }
        settings.append(Setting(name: name, row: row, value: value))
    }

    /// `values` with what the options set. Throws for a value that is wrong.
    func applied(to values: Values) throws(UsageError) -> Values {
        var values = values
        for setting in settings {
            do throws(BadValue) {
                try setting.row.set(&values, setting.value)
            } catch {
                throw self.error("“\(setting.name)” \(error.predicate).")
            }
        }
        return values
    }

    /// The only operand; `nil` if there is none.
    ///
    /// - Parameter noun: What it is, for the message that there are several.
    func operand(_ noun: String) throws(UsageError) -> String? {
        guard operands.count <= 1 else { throw error("“\(command)” takes one \(noun).") }
        return operands.first
    }

    /// Throws when there is an operand.
    func checkNoOperands() throws(UsageError) {
        guard operands.isEmpty else { throw error("“\(command)” takes no arguments but options.") }
    }

    /// An error of this command line.
    func error(_ sentence: String) -> UsageError {
        UsageError(sentence, command)
    }
}

/// The command line is invalid.
struct UsageError: Error, Equatable {
    /// The error, as a sentence.
    let sentence: String
    /// The command whose help explains it; `nil` for the list of commands.
    let command: String?

    init(_ sentence: String, _ command: String? = nil) {
        self.sentence = sentence
        self.command = command
    }

    /// - Parameters:
    ///   - fact: What there is not, without a full stop.
    ///   - nearest: What may be meant.
    init(_ fact: String, nearest: String?, _ command: String? = nil) {
        self.init(fact + (nearest.map { ": did you mean “\($0)”?" } ?? "."), command)
    }

    /// What is printed: the sentence, and where help is.
    var line: String {
        "\(sentence) See “purl \(command.map { "\($0) --help" } ?? "help")”."
    }
}
