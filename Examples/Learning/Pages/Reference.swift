import Foundation

/// The public symbols of the libraries, of the symbol graphs that the compiler writes: a page for each type with its members, and
/// one for what a library has outside of types.
struct Reference {
    /// A symbol, or a type of another module that a library extends.
    struct Page {
        let library: String
        /// The names of the types around it, and its own; empty for the page of what is in no type.
        let path: [String]
        fileprivate var symbol: Symbol?
        fileprivate var members: [Member] = []

        var title: String { path.isEmpty ? "\(library): functions and variables" : path.joined(separator: ".") }
        /// Where it is, from the site's root.
        var address: String {
            "reference/\(library)/\(path.isEmpty ? "index" : path.joined(separator: ".")).html"
        }
    }

    fileprivate struct Member {
        let symbol: Symbol
        /// The name by which it can be linked to.
        let anchor: String
    }

    private struct Address {
        let path: String
        let anchor: String?

        var words: String {
            guard let anchor else { return path }
            let allowed = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~():"))
            return "\(path)#\(anchor.addingPercentEncoding(withAllowedCharacters: allowed) ?? anchor)"
        }
    }

    let libraries: [String]
    private(set) var pages: [Page] = []
    /// By the library and the path of names, joined by slashes.
    private var named: [String: [(address: Address, code: String)]] = [:]
    /// By the compiler's name.
    private var precise: [String: Address] = [:]
    /// The names of the types that a type conforms to or inherits from, by the compiler's name.
    private var above: [String: [String]] = [:]

    /// - Parameters:
    ///   - folder: Where each library has a folder of symbol graphs.
    ///   - libraries: The libraries, in the order in which they are listed.
    init(_ folder: URL, libraries: [String]) throws {
        self.libraries = libraries
        for library in libraries {
            let files = try FileManager.default
                .contentsOfDirectory(
                    at: folder.appendingPathComponent(library, isDirectory: true), includingPropertiesForKeys: nil
                )
                .filter { $0.lastPathComponent.hasSuffix(".symbols.json") }.sorted { $0.path < $1.path }
            guard !files.isEmpty else { throw CocoaError(.fileNoSuchFile) }
            let graphs = try files.map { try JSONDecoder().decode(Graph.self, from: Data(contentsOf: $0)) }
            add(graphs.flatMap(\.symbols).filter { !$0.isSynthesized }, of: library)
            for relationship in graphs.flatMap(\.relationships) { add(relationship) }
        }
    }

    private mutating func add(_ symbols: [Symbol], of library: String) {
        var pages: [[String]: Page] = [:]
        for symbol in symbols where symbol.kind.isType {
            pages[symbol.path] = Page(library: library, path: symbol.path, symbol: symbol)
        }
        let others = symbols.filter { !$0.kind.isType }.sorted {
            ($0.kind, $0.name, $0.code) < ($1.kind, $1.name, $1.code)
        }
        for symbol in others {
            let path = Array(symbol.path.dropLast())
            var page = pages[path] ?? Page(library: library, path: path)
            // A protocol's requirement and what implements it by default are one.
            if let known = page.members.firstIndex(where: { $0.symbol.code == symbol.code }) {
                let anchor = page.members[known].anchor
                if page.members[known].symbol.comment.isEmpty {
                    page.members[known] = Member(symbol: symbol, anchor: anchor)
                }
                precise[symbol.identifier.precise] = Address(path: page.address, anchor: anchor)
            } else {
                let overloads = page.members.count { $0.symbol.name == symbol.name }
                let anchor = overloads == 0 ? symbol.name : "\(symbol.name)-\(overloads + 1)"
                page.members.append(Member(symbol: symbol, anchor: anchor))
                let address = Address(path: page.address, anchor: anchor)
                precise[symbol.identifier.precise] = address
                named[([library] + symbol.path).joined(separator: "/"), default: []].append((address, symbol.code))
            }
            pages[path] = page
        }
        for page in pages.values {
            let address = Address(path: page.address, anchor: nil)
            if let symbol = page.symbol { precise[symbol.identifier.precise] = address }
            if !page.path.isEmpty { named[([library] + page.path).joined(separator: "/")] = [(address, "")] }
        }
        self.pages += pages.values.sorted { ($0.title.lowercased(), $0.title) < ($1.title.lowercased(), $1.title) }
    }

    private mutating func add(_ relationship: Graph.Relationship) {
        guard ["conformsTo", "inheritsFrom"].contains(relationship.kind) else { return }
        let name = relationship.targetFallback.map { String($0.split(separator: ".").last ?? "") }
        let own = precise[relationship.target].map {
            URL(fileURLWithPath: $0.path).deletingPathExtension().lastPathComponent
        }
        // What every type has says nothing of one.
        guard let name = own ?? name, !["Copyable", "Escapable", "SendableMetatype"].contains(name) else { return }
        above[relationship.source, default: []].append(name)
    }

    /// Where the symbol is that a page names as ``Type/member``.
    ///
    /// - Parameters:
    ///   - name: The path of names; of overloads it may name the types, as in `raw(_:then:)-(String,_)`.
    ///   - library: The library of the page that names it.
    ///   - path: The type whose page that is.
    /// - Returns: The way from the site's root; `nil` where there is no such symbol.
    func address(of name: String, library: String?, path: [String] = []) -> String? {
        let parts = name.split(separator: "/").map { String($0) }
        let types =
            parts.last?.firstMatch(of: /\)-\((.*)\)$/).map { $0.1.split(separator: ",").filter { $0 != "_" } } ?? []
        let names = parts.map(Self.name)
        let found = { (key: [String]) -> String? in
            let overloads = named[key.joined(separator: "/")] ?? []
            let fitting = overloads.first { overload in types.allSatisfy { overload.code.contains(": \($0)") } }
            return (fitting ?? overloads.first)?.address.words
        }
        for library in (library.map { [$0] } ?? []) + libraries {
            for count in stride(from: path.count, through: 0, by: -1) {
                if let address = found([library] + path.prefix(count) + names) { return address }
            }
        }
        // With the library's name before it.
        return found(names)
    }

    /// A part of a symbol's path, without what tells it from others of the name.
    static func name(of part: some StringProtocol) -> String {
        String(part).replacing(/-(?:swift\.[a-z.]+|\(.*\)|[0-9a-z]{4,6})$/, with: "")
    }

    // MARK: Markup

    /// What a page shows.
    ///
    /// - Parameters:
    ///   - root: The way to the site's root.
    ///   - markdown: Makes markup of a comment.
    func content(of page: Page, root: String, markdown: (String) -> String) -> String {
        var parts: [String] = []
        let library = "<a href=\"\(root)reference/index.html#\(page.library)\">\(page.library)</a>"
        let around = pages.first { $0.library == page.library && $0.path == page.path.dropLast() && !$0.path.isEmpty }
        let within = around.map { " in <a href=\"\(root)\($0.address)\">\(Markdown.escaped($0.title))</a>" } ?? ""
        if let symbol = page.symbol {
            parts.append("<p class=\"faint\">\(symbol.kind.title)\(within), \(library)</p>")
            parts.append(declaration(of: symbol, root: root))
            parts.append(markdown(symbol.comment))
            if let above = above[symbol.identifier.precise] {
                let names = Set(above).sorted().map { name in
                    address(of: name, library: page.library).map { "<a href=\"\(root)\($0)\">\(name)</a>" } ?? name
                }
                parts.append("<p class=\"faint\">Inherits from or conforms to: \(names.joined(separator: ", ")).</p>")
            }
        } else if page.path.isEmpty {
            parts.append("<p class=\"faint\">\(library)</p>")
        } else {
            parts.append("<p class=\"faint\">What \(library) adds to a type of another module.</p>")
        }
        let nested = pages.filter {
            $0.library == page.library && !$0.path.isEmpty && $0.path.dropLast() == page.path[...]
        }
        if !nested.isEmpty, !page.path.isEmpty { parts.append("<h2>Types</h2>\n" + list(nested, root: root)) }
        for kind in Kind.allCases {
            let members = page.members.filter { $0.symbol.kind == kind }
            guard !members.isEmpty else { continue }
            parts.append("<h2>\(kind.plural)</h2>")
            for member in members {
                parts.append(
                    """
                    <section class="symbol" id="\(Markdown.escaped(member.anchor))">
                    <h3>\(Markdown.escaped(member.symbol.name))</h3>
                    \(declaration(of: member.symbol, root: root))
                    \(markdown(member.symbol.comment))
                    </section>
                    """)
            }
        }
        return parts.joined(separator: "\n")
    }

    /// All types of all libraries.
    func index(root: String) -> String {
        libraries.map { library in
            let own = pages.filter { $0.library == library }
            return """
                <h2 id="\(library)">\(library)</h2>
                \(list(own, root: root))
                """
        }.joined(separator: "\n")
    }

    private func list(_ pages: [Page], root: String) -> String {
        let items = pages.map {
            "<li><a href=\"\(root)\($0.address)\"><code>\(Markdown.escaped($0.title))</code></a></li>"
        }
        return "<ul class=\"columns\">\(items.joined(separator: "\n"))</ul>"
    }

    private func declaration(of symbol: Symbol, root: String) -> String {
        let parts = symbol.declarationFragments.map { fragment in
            let words = Markdown.escaped(fragment.spelling)
            guard let address = fragment.preciseIdentifier.flatMap({ precise[$0] }) else { return words }
            return "<a href=\"\(root)\(address.words)\">\(words)</a>"
        }
        return "<pre tabindex=\"0\" aria-label=\"Declaration\"><code>\(parts.joined())</code></pre>"
    }
}

extension Reference {
    /// What the compiler writes of a module.
    private struct Graph: Decodable {
        struct Relationship: Decodable {
            let kind: String
            let source: String
            let target: String
            let targetFallback: String?
        }

        let symbols: [Symbol]
        let relationships: [Relationship]
    }

    fileprivate struct Symbol: Decodable {
        struct Identifier: Decodable {
            let precise: String
        }

        struct Fragment: Decodable {
            let spelling: String
            let preciseIdentifier: String?
        }

        private struct KindName: Decodable {
            let identifier: Kind
        }

        private struct Comment: Decodable {
            struct Line: Decodable {
                let text: String
            }

            let lines: [Line]
        }

        let identifier: Identifier
        let path: [String]
        let kind: Kind
        let declarationFragments: [Fragment]
        /// Empty where there is none.
        let comment: String

        var name: String { path.last ?? "" }
        /// The declaration.
        var code: String { declarationFragments.map(\.spelling).joined() }
        /// Whether the compiler has taken it over from a protocol of another module.
        var isSynthesized: Bool { identifier.precise.contains("::SYNTHESIZED::") }

        private enum CodingKeys: String, CodingKey {
            case identifier, pathComponents, kind, declarationFragments, docComment
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            identifier = try values.decode(Identifier.self, forKey: .identifier)
            path = try values.decode([String].self, forKey: .pathComponents)
            kind = try values.decode(KindName.self, forKey: .kind).identifier
            declarationFragments = try values.decode([Fragment].self, forKey: .declarationFragments)
            comment =
                try values.decodeIfPresent(Comment.self, forKey: .docComment)?.lines.map(\.text)
                .joined(separator: "\n") ?? ""
        }
    }

    /// The kinds of symbols, in the order in which a page lists them.
    fileprivate enum Kind: String, Decodable, CaseIterable, Comparable {
        case structure = "swift.struct"
        case `class` = "swift.class"
        case `actor` = "swift.actor"
        case enumeration = "swift.enum"
        case `protocol` = "swift.protocol"
        case typeAlias = "swift.typealias"
        case associatedType = "swift.associatedtype"
        case enumerationCase = "swift.enum.case"
        case initializer = "swift.init"
        case typeProperty = "swift.type.property"
        case property = "swift.property"
        case typeMethod = "swift.type.method"
        case method = "swift.method"
        case `subscript` = "swift.subscript"
        case typeSubscript = "swift.type.subscript"
        case `operator` = "swift.func.op"
        case function = "swift.func"
        case variable = "swift.var"
        case deinitializer = "swift.deinit"

        var isType: Bool { self <= .protocol }

        static func < (left: Kind, right: Kind) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }

        var title: String {
            switch self {
            case .structure: "Structure"
            case .class: "Class"
            case .actor: "Actor"
            case .enumeration: "Enumeration"
            case .protocol: "Protocol"
            case .typeAlias: "Type alias"
            case .associatedType: "Associated type"
            case .enumerationCase: "Case"
            case .initializer: "Initializer"
            case .typeProperty: "Type property"
            case .property: "Property"
            case .typeMethod: "Type method"
            case .method: "Method"
            case .subscript: "Subscript"
            case .typeSubscript: "Type subscript"
            case .operator: "Operator"
            case .function: "Function"
            case .variable: "Variable"
            case .deinitializer: "Deinitializer"
            }
        }

        var plural: String {
            if title.hasSuffix("y") { return title.dropLast() + "ies" }
            return title + (title.hasSuffix("s") ? "es" : "s")
        }
    }
}
