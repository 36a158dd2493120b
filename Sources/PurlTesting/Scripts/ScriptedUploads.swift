/// What one line of a ``ServerScript`` says about the uploads that a route takes.
enum UploadDirective: Sendable, Equatable {
    /// The route takes uploads that can be resumed, in these versions of the draft.
    case versions(Set<Int>)
    case limit(Limit, Int)
    case fault(Fault, at: UploadTarget.Phase, times: Int)

    /// A limit, by its name in `Upload-Limit`.
    enum Limit: String, Sendable, CaseIterable {
        case maximumSize = "max-size"
        case minimumSize = "min-size"
        case maximumAppendSize = "max-append-size"
        case minimumAppendSize = "min-append-size"
        case maximumAge = "max-age"
    }

    /// An ``UploadTarget/Fault`` as a script can name it.
    enum Fault: Sendable, Equatable {
        /// A field of a response.
        struct Field: Sendable, Equatable {
            let name: String
            let value: String
        }

        case connection(ScriptFault)
        case status(Int, [Field])
        case expiry
        case interimVersion(Int?)
        case location(String?)
        case offset(Int?)
        case truncation(Int)
    }
}

extension UploadTarget {
    /// The target that a route's lines describe; `nil` for a route that takes no uploads.
    ///
    /// - Parameter port: What stands for `{port}`.
    convenience init?(_ directives: [UploadDirective], port: String) {
        var versions: Set<Int>?
        var limits = Limits()
        for directive in directives {
            switch directive {
            case .versions(let spoken): versions = spoken
            case .limit(let limit, let value): limits.set(limit, to: value)
            case .fault: break
            }
        }
        guard let versions else { return nil }
        // What a server keeps that runs for long must not add up.
        self.init(versions: versions, limits: limits, keepsEarlierContent: false)
        for case .fault(let fault, let phase, let times) in directives {
            self.fault(Fault(fault, port: port), at: phase, times: times)
        }
    }
}

extension UploadTarget.Limits {
    fileprivate mutating func set(_ limit: UploadDirective.Limit, to value: Int) {
        switch limit {
        case .maximumSize: maximumSize = value
        case .minimumSize: minimumSize = value
        case .maximumAppendSize: maximumAppendSize = value
        case .minimumAppendSize: minimumAppendSize = value
        case .maximumAge: maximumAge = value
        }
    }
}

extension UploadTarget.Fault {
    fileprivate init(_ fault: UploadDirective.Fault, port: String) {
        func text(_ text: String) -> String { text.replacing("{port}", with: port) }
        self =
            switch fault {
            case .connection(let fault): .connection(fault.value)
            case .status(let status, let fields):
                .reply(fields.reduce(Reply.status(status)) { $0.field($1.name, text($1.value)) })
            case .expiry: .expiry
            case .interimVersion(let version): .interimVersion(version)
            case .location(let location): .location(location.map(text))
            case .offset(let offset): .offset(offset)
            case .truncation(let length): .truncation(to: length)
            }
    }
}

// MARK: - The grammar

extension UploadDirective {
    private typealias Failure = ServerScript.ParseError

    /// The directives about uploads: their first words, and how the rest of their lines is read.
    static let readers: [String: ScriptParser.Reader] = [
        "uploads": { line throws(Failure) in
            var versions: Set<Int> = []
            while !line.peek().text.isEmpty { versions.insert(try line.count("a version of the draft")) }
            return .upload(.versions(versions.isEmpty ? [6, 8] : versions))
        },
        "upload-limit": { line throws(Failure) in
            let word = try line.word("a limit such as “max-size”")
            guard let limit = Limit(rawValue: word.text) else {
                let names = Limit.allCases.map { "“\($0.rawValue)”" }.joined(separator: ", ")
                throw line.failure("“\(word.text)” should be \(names).", word)
            }
            return .upload(.limit(limit, try line.size("a size, or seconds")))
        },
        "upload-fault": { line throws(Failure) in
            let fault = try fault(&line)
            let phase = try phase(&line)
            guard let word = try line.wordIfAny() else { return .upload(.fault(fault, at: phase, times: 1)) }
            guard word.text == "times" else { throw line.failure("“\(word.text)” should be “times”.", word) }
            return .upload(.fault(fault, at: phase, times: try line.count("a number")))
        },
    ]

    private static func fault(_ line: inout ScriptLine) throws(Failure) -> Fault {
        let names =
            "“cut”, “reset”, “stall”, “pause”, “status”, “expiry”, “version”, “location”, “offset” or “truncation”"
        let word = try line.word(names)
        switch word.text {
        case "cut": return .connection(.cut)
        case "reset": return .connection(.reset)
        case "stall": return .connection(.stall)
        case "pause": return .connection(.pause(milliseconds: try line.milliseconds()))
        case "status": return .status(try line.status(200...599), try fields(&line))
        case "expiry": return .expiry
        case "version":
            return .interimVersion(try none(&line) ? nil : try line.count("a version of the draft, or “none”"))
        case "location": return .location(try none(&line) ? nil : try line.word("a URL, or “none”").text)
        case "offset": return .offset(try none(&line) ? nil : try line.size("an offset, or “none”"))
        case "truncation": return .truncation(try line.size("what is left, in bytes"))
        default: throw line.failure("“\(word.text)” should be \(names).", word)
        }
    }

    /// Whether the next word is “none”, which is read then.
    private static func none(_ line: inout ScriptLine) throws(Failure) -> Bool {
        guard line.peek().text == "none" else { return false }
        _ = try line.word("“none”")
        return true
    }

    /// Fields without blanks: `NAME:VALUE`.
    private static func fields(_ line: inout ScriptLine) throws(Failure) -> [Fault.Field] {
        var fields: [Fault.Field] = []
        while line.peek().text.contains(":") {
            let word = try line.word("a field")
            let parts = word.text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard !parts[0].isEmpty else {
                throw line.failure("“\(word.text)” is not a field such as Name:value.", word)
            }
            fields.append(Fault.Field(name: String(parts[0]), value: String(parts[1])))
        }
        return fields
    }

    private static let phases: [String: UploadTarget.Phase] = [
        "before 104": .creation, "after 104": .announcement, "before response": .completion,
        "before part-response": .part, "at HEAD": .offsetRetrieval, "at PATCH": .append, "at DELETE": .cancellation,
    ]

    private static func phase(_ line: inout ScriptLine) throws(Failure) -> UploadTarget.Phase {
        let first = try line.word("where, such as “at 1M”")
        let second = try line.word("where, such as “at 1M”")
        if let phase = phases["\(first.text) \(second.text)"] { return phase }
        if first.text == "at", let size = ScriptLine.size(second.text) { return .offset(size) }
        throw line.failure(
            "“\(first.text) \(second.text)” is not a place in an upload such as “at 1M” or “after 104”.", first)
    }
}
