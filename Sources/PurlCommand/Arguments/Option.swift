/// An option, as help, completions, the manual and messages name it.
struct Option: Equatable {
    /// The short name first, as in “-o”, “--output”.
    let names: [String]
    /// What stands for its value in help; `nil` for an option without one.
    let placeholder: String?
    /// The values there are, where they can be listed.
    let choices: [String]
    /// Whether each use of it adds a value.
    let isList: Bool
    /// A name of the option that cannot be given with this one.
    let alternative: String?
    /// What it does. The beginning, up to a “;” or the end of a sentence, is its description in short.
    let help: String

    /// The option of every command.
    static let help = Option(
        names: ["-h", "--help"], placeholder: nil, choices: [], isList: false, alternative: nil,
        help: "print this help")

    /// The names as help lists them: “-o, --output”.
    var list: String { names.joined(separator: ", ") }

    /// The description in short.
    var summary: String {
        let end = [";", ".", " (", ":"].compactMap { help.firstRange(of: $0)?.lowerBound }.min() ?? help.endIndex
        return help[..<end].split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Whether only one of the two can be given.
    func contradicts(_ other: Option) -> Bool {
        alternative.map(other.names.contains) == true || other.alternative.map(names.contains) == true
    }
}

/// A row of a command's table: an option, and what it does to the command's values.
struct OptionRow<Values> {
    let option: Option
    /// Takes the text that was given; an empty one for an option without a value.
    let set: (inout Values, String) throws(BadValue) -> Void

    /// An option without a value.
    ///
    /// - Parameters:
    ///   - names: As help lists them: “-q, --quiet”.
    ///   - path: What it sets.
    ///   - value: The value that it sets.
    ///   - alternative: The name of an earlier option that cannot be given with this one.
    static func flag<Value>(
        _ names: String, _ path: WritableKeyPath<Values, Value>, _ value: Value, not alternative: String? = nil,
        _ help: String
    ) -> Self {
        Self(option: option(names, not: alternative, help)) { values, _ throws(BadValue) in
            values[keyPath: path] = value
        }
    }

    /// An option with a value, which can be given once.
    ///
    /// - Parameter read: The value that the text is.
    static func value<Value>(
        _ names: String, _ placeholder: String, _ path: WritableKeyPath<Values, Value>,
        _ read: @escaping (String) throws(BadValue) -> Value, choices: [String] = [], not alternative: String? = nil,
        _ help: String
    ) -> Self {
        let option = option(names, placeholder, choices: choices, not: alternative, help)
        return Self(option: option) { values, text throws(BadValue) in values[keyPath: path] = try read(text) }
    }

    /// An option with a value, which can be given any number of times.
    static func list<Value>(
        _ names: String, _ placeholder: String, _ path: WritableKeyPath<Values, [Value]>,
        _ read: @escaping (String) throws(BadValue) -> Value, _ help: String
    ) -> Self {
        Self(option: option(names, placeholder, isList: true, help)) { values, text throws(BadValue) in
            values[keyPath: path].append(try read(text))
        }
    }

    private static func option(
        _ names: String, _ placeholder: String? = nil, choices: [String] = [], isList: Bool = false,
        not alternative: String? = nil, _ help: String
    ) -> Option {
        Option(
            names: names.split(separator: ", ").map(String.init), placeholder: placeholder, choices: choices,
            isList: isList,
            alternative: alternative, help: help)
    }
}

/// An option's value is wrong.
struct BadValue: Error, Equatable {
    /// What the option needs, to follow its name: “needs a number”.
    let predicate: String

    init(_ predicate: String) {
        self.predicate = predicate
    }
}
