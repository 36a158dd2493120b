import Foundation
internal import PurlHTTP

/// The grammar of ``ServerScript``: text in, values out.
///
/// A script is read line by line. A line is a note, the seed, a route, or, below a route, a directive with or without a
/// selector before it. `directives` has one entry for each word a directive can begin with, and ``UploadDirective`` and
/// ``WebSocketDirective`` have those about uploads and WebSockets.
enum ScriptParser {
    /// What a script says.
    struct Result {
        var notes: [String: String] = [:]
        var seed: UInt64 = 0
        var routes: [ScriptedRoute] = []
    }

    typealias Failure = ServerScript.ParseError
    typealias Reader = @Sendable (inout ScriptLine) throws(Failure) -> ScriptDirective

    /// The notes that a script can have, each once.
    private static let notes: Set = ["title", "source", "expect", "budget", "mirrors", "digest", "disk", "kill"]

    static func parse(_ text: String) throws(Failure) -> Result {
        var result = Result()
        var number = 0
        for text in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            var line = ScriptLine(text, number: number)
            if !line.isEmpty { try read(&line, into: &result) }
        }
        if result.routes.isEmpty {
            throw Failure(line: max(1, number), column: 1, reason: "The script has no route.")
        }
        return result
    }

    private static func read(_ line: inout ScriptLine, into result: inout Result) throws(Failure) {
        let first = line.peek()
        switch first.text {
        case "route":
            _ = try line.word("")
            result.routes.append(try route(&line, after: result.routes))
        case let name where notes.contains(name):
            _ = try line.word("")
            guard result.routes.isEmpty else { throw line.failure("“\(name)” stands before the first route.", first) }
            guard result.notes[name] == nil else { throw line.failure("“\(name)” is given twice.", first) }
            result.notes[name] = try line.rest("a text")
        case "seed":
            _ = try line.word("")
            guard result.routes.isEmpty else { throw line.failure("“seed” stands before the first route.", first) }
            result.seed = UInt64(try line.count("a seed"))
            try line.end()
        default:
            let selector = try selector(&line)
            let directive = try directive(&line)
            guard !result.routes.isEmpty else {
                throw line.failure("“\(first.text)” stands before the first route.", first)
            }
            if case .upload = directive, selector != RequestSelector() {
                throw line.failure("What is said about uploads holds for all requests.", first)
            }
            result.routes[result.routes.count - 1].steps.append(ScriptStep(selector: selector, directive: directive))
        }
    }

    private static func route(
        _ line: inout ScriptLine, after routes: [ScriptedRoute]
    ) throws(Failure) -> ScriptedRoute {
        let path = try line.word("a path")
        guard path.text.hasPrefix("/") else { throw line.failure("A path begins with “/”.", path) }
        guard !path.text.contains("?") else { throw line.failure("A route has no query: it matches any.", path) }
        let method = try line.wordIfAny()
        try line.end()
        guard !routes.contains(where: { $0.path == path.text && $0.method == method?.text }) else {
            throw line.failure("There is a route for “\(path.text)” already.", path)
        }
        return ScriptedRoute(path: path.text, method: method?.text)
    }

    // MARK: Selectors

    /// `1:`, `2-4:`, `3-:`, `every 2:`, with `ranged` or `plain`, `connection 2` and `from 1M-2M` before, `chance 30%` behind;
    /// none for all requests.
    private static func selector(_ line: inout ScriptLine) throws(Failure) -> RequestSelector {
        var selector = RequestSelector()
        let first = line.peek()
        let word = first.text.hasSuffix(":") ? String(first.text.dropLast()) : first.text
        guard
            ["ranged", "plain", "connection", "from", "every", "chance"].contains(word) || word.first?.isNumber == true
        else {
            return selector
        }
        var isOpen = true
        while isOpen {
            let word = try line.selectorWord("a selector’s “:”", &isOpen)
            switch word.text {
            case "ranged": selector.kind = .ranged
            case "plain": selector.kind = .plain
            case "connection":
                selector.connections = try numbers(try line.selectorWord("a number", ifOpen: &isOpen), line)
            case "from":
                selector.starts = try starts(try line.selectorWord("a number of bytes", ifOpen: &isOpen), line)
            case "every": selector.turns = .every(try line.selectorCount(upTo: .max, &isOpen))
            case "chance": selector.percent = try line.selectorCount(upTo: 100, &isOpen)
            default: selector.turns = .numbers(try numbers(word, line))
            }
        }
        return selector
    }

    private static func numbers(_ word: ScriptLine.Word, _ line: ScriptLine) throws(Failure) -> ClosedRange<Int> {
        let parts = word.text.split(separator: "-", omittingEmptySubsequences: false)
        if let first = parts.first.flatMap({ ScriptLine.digits($0) }), first > 0, parts.count <= 2 {
            if parts.count == 1 { return first...first }
            if parts[1].isEmpty { return first...Int.max }
            if let last = ScriptLine.digits(parts[1]), last >= first { return first...last }
        }
        throw line.failure("“\(word.text)” is not a selector such as 1, 2-4 or 3-.", word)
    }

    private static func starts(_ word: ScriptLine.Word, _ line: ScriptLine) throws(Failure) -> ClosedRange<Int> {
        let parts = word.text.split(separator: "-", omittingEmptySubsequences: false)
        if let first = parts.first.flatMap({ ScriptLine.size($0) }), parts.count <= 2 {
            if parts.count == 1 { return first...first }
            if parts[1].isEmpty { return first...Int.max }
            if let end = ScriptLine.size(parts[1]), end > first { return first...end - 1 }
        }
        throw line.failure("“\(word.text)” is not where a range begins, such as 1M, 1M-2M or 1M-.", word)
    }

    // MARK: Directives

    private static func directive(_ line: inout ScriptLine) throws(Failure) -> ScriptDirective {
        let name = try line.word("a directive")
        guard let read = readers[name.text] else {
            throw line.failure("There is no directive “\(name.text)”.", name)
        }
        let directive = try read(&line)
        try line.end()
        return directive
    }

    /// Every directive, with those about uploads and WebSockets.
    private static let readers = [UploadDirective.readers, WebSocketDirective.readers].reduce(directives) {
        all, readers in
        all.merging(readers) { first, _ in first }
    }

    /// Every other directive: its first word, and how the rest of its line is read.
    static let directives: [String: Reader] = [
        // Content
        "generated": { line throws(Failure) in
            let size = try line.size("a size")
            guard let word = try line.wordIfAny() else { return .generated(size: size, seed: nil) }
            guard word.text == "seed" else { throw line.failure("“\(word.text)” should be “seed”.", word) }
            return .generated(size: size, seed: UInt64(try line.count("a seed")))
        },
        "text": { line throws(Failure) in .text(try line.escapedRest()) },
        "raw": { line throws(Failure) in .raw(try line.escapedRest()) },
        "file": { line throws(Failure) in .file(try line.rest("a path")) },

        // Head
        "status": { line throws(Failure) in .status(try line.status(200...599), reason: line.restIfAny()) },
        "redirect": { line throws(Failure) in
            let status = line.peek().text.first?.isNumber == true ? try line.status(300...399) : 302
            return .redirect(status, to: try line.rest("a location"))
        },
        "interim": { line throws(Failure) in .interim(try line.status(100...199)) },
        "field": { line throws(Failure) in
            let (name, value) = try line.field()
            return .field(name, value)
        },
        "set": { line throws(Failure) in
            let (name, value) = try line.field()
            return .replacing(name, value)
        },
        "remove": { line throws(Failure) in .replacing(try line.word("a field’s name").text, nil) },

        // Validators
        "etag": { line throws(Failure) in
            switch try line.rest("an entity tag, “none” or “fresh”") {
            case "none": .entityTag(nil)
            case "fresh": .freshEntityTags
            case let tag: .entityTag(tag)
            }
        },
        "modified": { line throws(Failure) in
            let word = line.peek()
            let text = try line.rest("a date or “none”")
            if text == "none" { return .lastModified(nil) }
            guard let date = HTTPDate(text) else {
                throw line.failure("“\(text)” is not a date such as Sun, 06 Nov 1994 08:49:37 GMT.", word)
            }
            return .lastModified(date)
        },
        "conditions": { line throws(Failure) in
            try line.choice(["ignored": .conditionsIgnored])
        },
        "if-range": { line throws(Failure) in
            try line.choice([
                "honoured": .ifRange(.honoured), "ignored": .ifRange(.ignored), "refused": .ifRange(.refused),
            ])
        },

        // Ranges
        "ranges": { line throws(Failure) in
            let directive = try line.choice([
                "honoured": .ranges(.honoured), "ignored": .ranges(.ignored), "refused": .ranges(.refused),
                "multipart": .ranges(.multipart),
            ])
            guard directive == .ranges(.refused), line.peek().text == "without" else { return directive }
            _ = try line.word("")
            return try line.choice(["length": .ranges(.refusedWithoutLength)])
        },
        "range": { line throws(Failure) in
            let word = try line.word("“shifted”, “shortened”, “lengthened” or “status”")
            switch word.text {
            case "shifted": return .range(.startShifted(by: try line.signedSize("a distance")))
            case "shortened": return .range(.shortened(to: try line.size("a size")))
            case "lengthened": return .range(.lengthened(by: try line.size("a size")))
            case "status": return .partialStatus(try line.status(200...299))
            default:
                throw line.failure("“\(word.text)” should be “shifted”, “shortened”, “lengthened” or “status”.", word)
            }
        },
        "content-range": { line throws(Failure) in
            switch line.peek().text {
            case "shifted":
                _ = try line.word("")
                return .contentRange(.shifted(by: try line.signedSize("a distance")))
            case "total":
                _ = try line.word("")
                if line.peek().text != "*" { return .contentRange(.total(try line.size("a size or “*”"))) }
                _ = try line.word("")
                return .contentRange(.total(nil))
            case "missing":
                _ = try line.word("")
                return .contentRange(.missing)
            default:
                return .contentRange(.literal(try line.rest("a value, “shifted”, “total” or “missing”")))
            }
        },
        "accept-ranges": { line throws(Failure) in
            let value = try line.rest("a value or “missing”")
            return .acceptRanges(value == "missing" ? nil : value)
        },

        // Delivery
        "length": { line throws(Failure) in
            let isOffset = "+-".contains(line.peek().text.prefix(1)) && !line.peek().text.isEmpty
            let length = try line.signedSize("a length, or a difference such as +1K")
            return .contentLength(isOffset ? .off(by: length) : .exactly(length))
        },
        "chunked": { line throws(Failure) in
            .chunked(line.peek().text.isEmpty ? 64 << 10 : max(1, try line.size("a size")))
        },
        "until-close": { (_: inout ScriptLine) throws(Failure) in .untilClose },
        "rate": { line throws(Failure) in .rate(try line.size("a number of bytes in a second")) },
        "pieces": { line throws(Failure) in .pieces(try line.size("a size")) },
        "close": { (_: inout ScriptLine) throws(Failure) in .close },

        // Faults
        "cut": { line throws(Failure) in .fault(.cut, at: try phase(&line)) },
        "reset": { line throws(Failure) in .fault(.reset, at: try phase(&line)) },
        "stall": { line throws(Failure) in .fault(.stall, at: try phase(&line)) },
        "pause": { line throws(Failure) in
            let milliseconds = try line.milliseconds()
            return .fault(.pause(milliseconds: milliseconds), at: try phase(&line))
        },
    ]

    /// Where a fault happens, by its words.
    private static let phases: [String: ScriptPhase] = [
        "before head": .at(.beforeHead), "in status line": .at(.statusLine), "in field": .at(.field),
        "in head": .at(.midHead), "after head": .at(.afterBodyBytes(0)), "in middle": .at(.midBody),
        "in chunk": .at(.chunk), "in chunk size": .at(.chunkSize), "in trailers": .at(.trailers),
        "before end": .at(.beforeLastBytes(1)), "at random": .anywhere,
    ]

    private static func phase(_ line: inout ScriptLine) throws(Failure) -> ScriptPhase {
        let first = line.peek()
        let text = try line.rest("where, such as “after 1M”")
        if let phase = phases[text] { return phase }
        let words = text.split(separator: " ")
        if words.count == 2, let size = ScriptLine.size(words[1]) {
            if words[0] == "after" { return .at(.afterBodyBytes(size)) }
            if words[0] == "before-last" { return .at(.beforeLastBytes(size)) }
        }
        if words.count == 2, words[0] == "after", words[1].hasSuffix("%"),
            let percent = ScriptLine.digits(words[1].dropLast()), percent <= 100
        {
            return .at(.bodyShare(perMille: percent * 10))
        }
        throw line.failure("“\(text)” is not a place in a response such as “after 1M” or “before head”.", first)
    }
}
