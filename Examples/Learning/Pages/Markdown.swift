import Foundation

/// A page of a DocC catalogue, or a README, as HTML: the part of Markdown that our pages use. All text is escaped.
struct Markdown {
    /// What a page's pictures and links lead to.
    struct Targets {
        /// The element for a picture, by its name and description.
        var picture: (_ name: String, _ description: String) -> String
        /// The address and the title of a page, by its name in `<doc:…>`; `nil` where there is none.
        var page: (_ name: String) -> (address: String, title: String)?
        /// The address of a symbol, by its name in two backticks; `nil` where there is none.
        var symbol: (_ name: String) -> String?
    }

    /// The title: the first heading.
    let title: String
    /// Everything else.
    let html: String
    /// Pages that are linked to and do not exist.
    let missingPages: [String]
    /// Symbols, likewise.
    let missingSymbols: [String]

    init(_ text: String, _ targets: Targets) {
        var writer = Writer(lines: text.components(separatedBy: "\n"), targets: targets)
        html = writer.blocks()
        title = writer.title
        missingPages = writer.missingPages
        missingSymbols = writer.missingSymbols
    }

    /// The text of a page as it stands in an element or an attribute.
    static func escaped(_ text: some StringProtocol) -> String {
        String(text).replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }

    /// The name by which a heading can be linked to.
    static func anchor(_ heading: String) -> String {
        heading.split { !$0.isLetter && !$0.isNumber }.joined(separator: "-")
    }
}

/// Writes the blocks of a page one after the other.
private struct Writer {
    let lines: [String]
    let targets: Markdown.Targets
    var title = ""
    var missingPages: [String] = []
    var missingSymbols: [String] = []
    private var position = 0

    init(lines: [String], targets: Markdown.Targets) {
        self.lines = lines
        self.targets = targets
    }

    private var line: String? { position < lines.count ? lines[position] : nil }

    mutating func blocks() -> String {
        var parts: [String] = []
        while let line {
            let text = line.drop { $0 == " " }
            if text.isEmpty {
                position += 1
            } else if text.hasPrefix("@Metadata") {
                while let line = self.line, line != "}" { position += 1 }
                position += 1
            } else if text.hasPrefix("```") {
                parts.append(code())
            } else if text.hasPrefix("#") {
                parts.append(heading(text))
            } else if text.hasPrefix("|") {
                parts.append(table())
            } else if Self.item(text) != nil {
                parts.append(list())
            } else {
                parts.append(paragraph())
            }
        }
        return parts.joined(separator: "\n")
    }

    private mutating func heading(_ text: Substring) -> String {
        position += 1
        let level = text.prefix { $0 == "#" }.count
        let words = String(text.dropFirst(level + 1))
        guard level > 1 else {
            title = words.replacing("``", with: "")
            return ""
        }
        return "<h\(level) id=\"\(Markdown.anchor(words))\">\(inline(words))</h\(level)>"
    }

    private mutating func code() -> String {
        let fence = line ?? ""
        let indentation = fence.prefix { $0 == " " }.count
        let language = fence.dropFirst(indentation + 3)
        position += 1
        var code: [String] = []
        while let line, !line.drop(while: { $0 == " " }).hasPrefix("```") {
            code.append(Markdown.escaped(line.dropFirst(min(indentation, line.prefix { $0 == " " }.count))))
            position += 1
        }
        position += 1
        let name = language.isEmpty ? "Commands" : language == "swift" ? "Swift" : "Text"
        return "<pre tabindex=\"0\" aria-label=\"\(name)\"><code>\(code.joined(separator: "\n"))</code></pre>"
    }

    private mutating func table() -> String {
        var rows: [[String]] = []
        while let line, line.hasPrefix("|") {
            rows.append(Self.cells(of: line))
            position += 1
        }
        let cells = { (row: [String], name: String) in row.map { "<\(name)>\($0)</\(name)>" }.joined() }
        let head = cells((rows.first ?? []).map { inline($0) }, "th")
        let body = rows.dropFirst(2).map { "<tr>" + cells($0.map { inline($0) }, "td") + "</tr>" }
        return
            "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table><thead><tr>\(head)</tr></thead>"
            + "<tbody>\(body.joined(separator: "\n"))</tbody></table></div>"
    }

    /// The cells of a line; `\|` and bars within code are none's end.
    private static func cells(of line: String) -> [String] {
        var cells = [""]
        var isCode = false
        var last: Character = " "
        for character in line.trimmingCharacters(in: .whitespaces).dropFirst() {
            if character == "`" { isCode.toggle() }
            if character == "|", last != "\\", !isCode {
                cells.append("")
            } else {
                if character == "|", last == "\\" { cells[cells.count - 1].removeLast() }
                cells[cells.count - 1].append(character)
            }
            last = character
        }
        return cells.dropLast().map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// What a line begins: the length of an item's mark, and whether it has a number.
    private static func item(_ text: Substring) -> (length: Int, isNumbered: Bool)? {
        if text.hasPrefix("- ") { return (2, false) }
        let digits = text.prefix { $0.isNumber }
        guard !digits.isEmpty, text.dropFirst(digits.count).hasPrefix(". ") else { return nil }
        return (digits.count + 2, true)
    }

    private mutating func list() -> String {
        var items: [[String]] = []
        let indentation = (line ?? "").prefix { $0 == " " }.count
        let isNumbered = Self.item((line ?? "").dropFirst(indentation))?.isNumbered ?? false
        while let line {
            let own = line.prefix { $0 == " " }.count
            let text = line.dropFirst(own)
            if own == indentation, let item = Self.item(text), item.isNumbered == isNumbered {
                items.append([String(text.dropFirst(item.length))])
            } else if own > indentation, !text.isEmpty {
                items[items.count - 1].append(String(line.dropFirst(min(own, indentation + (isNumbered ? 3 : 2)))))
            } else if text.isEmpty, continuesAfterBlank(indentation) {
                items[items.count - 1].append("")
            } else {
                break
            }
            position += 1
        }
        let written = items.map { item in
            guard item.count > 1, item.contains(where: { $0.isEmpty || $0.hasPrefix("- ") || $0.hasPrefix("```") })
            else {
                return "<li>\(inline(item.joined(separator: "\n")))</li>"
            }
            var inner = Writer(lines: item, targets: targets)
            let blocks = inner.blocks()
            missingPages += inner.missingPages
            missingSymbols += inner.missingSymbols
            return "<li>\(blocks)</li>"
        }
        let name = isNumbered ? "ol" : "ul"
        return "<\(name)>\n\(written.joined(separator: "\n"))\n</\(name)>"
    }

    /// Whether what follows empty lines still belongs to the list's item.
    private func continuesAfterBlank(_ indentation: Int) -> Bool {
        guard let next = lines[position...].first(where: { !$0.isEmpty }) else { return false }
        return next.prefix { $0 == " " }.count > indentation
    }

    private mutating func paragraph() -> String {
        var text: [String] = []
        while let line, !line.isEmpty, !line.hasPrefix("```"), !line.hasPrefix("|"),
            text.isEmpty || Self.item(line[...]) == nil
        {
            text.append(line)
            position += 1
        }
        let words = text.joined(separator: "\n")
        if let picture = words.wholeMatch(of: /!\[([^\]]*)\]\(([^)]*)\)/) {
            return targets.picture(String(picture.2), String(picture.1))
        }
        if words.hasPrefix("> ") {
            return "<blockquote><p>\(inline(words.replacing("\n> ", with: "\n").dropFirst(2)))</p></blockquote>"
        }
        return "<p>\(inline(words))</p>"
    }

    // MARK: Within a paragraph

    private mutating func inline(_ text: some StringProtocol) -> String {
        var rest = Substring(text)
        var written = ""
        while let character = rest.first {
            if character == "`" {
                let fence = rest.prefix { $0 == "`" }
                let inner = rest.dropFirst(fence.count)
                if let end = inner.range(of: fence) {
                    written += code(inner[..<end.lowerBound], isSymbol: fence.count == 2)
                    rest = inner[end.upperBound...]
                    continue
                }
            } else if character == "*", let found = rest.prefixMatch(of: /\*\*(?<words>[^*]+)\*\*/) {
                written += "<strong>\(inline(found.words))</strong>"
                rest = rest[found.range.upperBound...]
                continue
            } else if character == "*", let found = rest.prefixMatch(of: /\*(?<words>[^* ][^*]*)\*/) {
                written += "<em>\(inline(found.words))</em>"
                rest = rest[found.range.upperBound...]
                continue
            } else if character == "<", let found = rest.prefixMatch(of: /<doc:(?<name>[^>]+)>/) {
                written += page(String(found.name))
                rest = rest[found.range.upperBound...]
                continue
            } else if character == "<", let found = rest.prefixMatch(of: /<(?<address>https?:[^>]+)>/) {
                written += "<a href=\"\(Markdown.escaped(found.address))\">\(Markdown.escaped(found.address))</a>"
                rest = rest[found.range.upperBound...]
                continue
            } else if character == "[",
                let found = rest.prefixMatch(of: /\[(?<words>(`[^`]*`|[^\]`])+)\]\((?<address>[^)]*)\)/)
            {
                written += link(inline(found.words), String(found.address))
                rest = rest[found.range.upperBound...]
                continue
            }
            written += Markdown.escaped(String(character))
            rest = rest.dropFirst()
        }
        return written
    }

    /// Code; or the last part of a symbol's path, which leads to the symbol.
    private mutating func code(_ text: Substring, isSymbol: Bool) -> String {
        guard isSymbol, !text.contains(" ") else { return "<code>\(Markdown.escaped(text))</code>" }
        let name = Reference.name(of: text.split(separator: "/").last ?? text)
        let code = "<code>\(Markdown.escaped(name))</code>"
        guard let address = targets.symbol(String(text)) else {
            missingSymbols.append(String(text))
            return code
        }
        return "<a href=\"\(Markdown.escaped(address))\">\(code)</a>"
    }

    private mutating func page(_ name: String) -> String {
        guard let page = targets.page(name) else {
            missingPages.append(name)
            return Markdown.escaped(name)
        }
        return "<a href=\"\(Markdown.escaped(page.address))\">\(Markdown.escaped(page.title))</a>"
    }

    /// A link to elsewhere, or within the site; files of the repository are not part of the site.
    private mutating func link(_ words: String, _ address: String) -> String {
        if address.hasPrefix("doc:") {
            guard let page = targets.page(String(address.dropFirst(4))) else {
                missingPages.append(address)
                return words
            }
            return "<a href=\"\(Markdown.escaped(page.address))\">\(words)</a>"
        }
        let path = address.prefix { $0 != "#" }
        let isPage = address.hasPrefix("http") || address.hasPrefix("#") || path.hasSuffix(".html")
        return isPage ? "<a href=\"\(Markdown.escaped(address))\">\(words)</a>" : words
    }
}
