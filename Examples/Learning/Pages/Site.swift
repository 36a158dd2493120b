import Foundation
import Purl
import PurlTrace

/// The lessons, their players, the examples, and the libraries' articles and reference as a folder of static pages.
@MainActor
struct Site {
    private let folder: URL
    private var problems: [String] = []
    /// The sections that not every site has: what they need was made by another program.
    private var sections: [(String, String)] = []
    /// By their names.
    private var knives: [String: KnifePage] = [:]
    /// The scenes whose players are written.
    private var played: Set<String> = []
    private let reference: Reference

    private init(_ folder: URL, _ reference: Reference) {
        self.folder = folder
        self.reference = reference
    }

    /// Writes all pages.
    ///
    /// - Parameter graphs: The folder of the libraries' symbol graphs.
    /// - Returns: What is wrong with them: links that lead nowhere.
    static func write(to folder: URL, graphs: URL) async throws -> [String] {
        var site = Site(folder, try Reference(graphs, libraries: libraries))
        try await site.write()
        return site.problems
    }

    private mutating func write() async throws {
        sections.append(("gallery/index.html", "What can go wrong"))
        sections.append(("knives/index.html", "The knife"))
        if exists("laboratory/laboratory.html") { sections.append(("laboratory/laboratory.html", "Laboratory")) }
        for name in ["site.css", "site.js"] {
            try put(
                String(contentsOf: Catalogue.root.appendingPathComponent("Pages/\(name)"), encoding: .utf8), at: name)
        }
        for scene in Lesson.all.flatMap(\.scenes) + Illustration.all.map(\.scene) { try await play(scene) }
        for finding in Lesson.all.flatMap(\.findings) {
            let picture = try String(contentsOf: Catalogue.picture(finding.name), encoding: .utf8)
            try put(picture, at: "pictures/\(finding.name).svg")
        }
        for knife in Knife.all { try await play(knife) }
        try await writeKnives()
        try writeGallery()
        for (position, lesson) in Lesson.all.enumerated() { try write(lesson, position) }
        for example in LessonCompanion.examples { try writeExample(example) }
        try writeArticles()
        try writeReference()
        try writeIndexes()
    }

    private func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(path).path)
    }

    private func put(_ text: String, at path: String) throws {
        let file = folder.appendingPathComponent(path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    private func put(_ page: SitePage) throws { try put(page.html(sections: sections), at: page.path) }

    // MARK: Scenes

    /// Plays a scene, and writes its player and its picture.
    private mutating func play(_ scene: Scene) async throws {
        guard played.insert(scene.name).inserted else { return }
        let film = try await scene.run()
        try put(film.picture, at: "pictures/\(scene.name).svg")
        try put(
            film.page(showing: try SceneSource(scene.name, in: Self.sources).program), at: "players/\(scene.name).html")
    }

    /// Plays a knife at all of its places, and writes their players.
    private mutating func play(_ knife: Knife) async throws {
        let folder = Catalogue.root.appendingPathComponent("Knives", isDirectory: true)
        let program = try SceneSource(knife.name, in: [folder], others: Self.sources).program
        var plays: [Knife.Play] = []
        for (position, cut) in knife.cuts.enumerated() {
            let play = try await knife.run(cut: cut)
            try put(play.film.page(showing: program), at: "knives/\(KnifePage.player(knife, position))")
            plays.append(play)
        }
        knives[knife.name] = KnifePage(knife, plays)
    }

    private func writeKnives() async throws {
        let parts = Knife.all.compactMap { knives[$0.name]?.content(root: "../") }
        let content = """
            <p class="lead">Move a slider, and see what changes: where the connection is cut, when the process is killed, from
            which byte on the file is another one. The program was played at each of these places; nothing here is drawn by hand. Then
            try <a href="game.html">the game</a>.</p>
            \(parts.joined(separator: "\n"))
            """
        try put(SitePage(path: "knives/index.html", title: "The knife", content: content, usesScript: true))
        let (moves, count) = try await Game.play()
        let programs = try LessonCompanion.listings([
            "Lessons/06-Ranges/NaiveResume.swift", "Knives/CarefulResume.swift",
        ])
        let game = KnifePage.game(moves: moves, count: count, programs: programs)
        try put(SitePage(path: "knives/game.html", title: "Cause a wrong file", content: game, usesScript: true))
    }

    /// The failures that the fault matrix has acted out, with their players and pictures.
    private func writeGallery() throws {
        let page = try GalleryPage()
        for exhibit in page.exhibits {
            let film = try exhibit.film
            try put(film.page, at: "gallery/\(exhibit.name).html")
            try put(film.picture, at: "gallery/\(exhibit.name).svg")
        }
        try put(
            SitePage(
                path: "gallery/index.html", title: "What can go wrong", content: try page.content(), usesScript: true))
    }

    /// Where scenes and their programs are.
    nonisolated static var sources: [URL] {
        Lesson.all.map(\.folder) + [Catalogue.root.appendingPathComponent("Documentation", isDirectory: true)]
    }

    /// A scene's player, with the picture for printing and for browsers without scripts.
    private static func player(_ name: String, _ description: String, root: String) -> String {
        let words = Markdown.escaped(description.replacing("\n", with: " "))
        return """
            <figure class="player">
            <iframe src="\(root)players/\(name).html" title="Player: \(name)" loading="lazy"></iframe>
            <img src="\(root)pictures/\(name).svg" alt="\(words)">
            <figcaption>Step with ← and →, or play. <a href="\(root)players/\(name).html">The player by itself</a>,
            <a href="\(root)pictures/\(name).svg">the whole picture</a>.
            <details><summary>In words</summary><p>\(words)</p></details></figcaption>
            </figure>
            """
    }

    /// A picture that no scene has made.
    private static func picture(_ address: String, _ description: String) -> String {
        """
        <figure class="picture" tabindex="0" role="group" aria-label="Picture"><a href="\(address)"><img src="\(address)" \
        alt="\(Markdown.escaped(description.replacing("\n", with: " ")))"></a></figure>
        """
    }

    // MARK: Lessons

    private static func title(of file: URL) throws -> String {
        let text = try String(contentsOf: file, encoding: .utf8)
        let heading = text.components(separatedBy: "\n").first { $0.hasPrefix("# ") } ?? "# "
        return String(heading.dropFirst(2)).replacing("``", with: "")
    }

    private mutating func write(_ lesson: Lesson, _ position: Int) throws {
        let path = "lessons/\(lesson.pageName).html"
        let page = Markdown(
            try String(contentsOf: lesson.page, encoding: .utf8), targets(from: path, library: nil))
        note(page, at: path)
        let companion = LessonCompanion(lesson)
        var links: [String] = []
        if position > 0 {
            let other = Lesson.all[position - 1]
            links.append("<a rel=\"prev\" href=\"\(other.pageName).html\">← \(try Self.heading(of: other))</a>")
        }
        links.append("<a href=\"../exercises/\(lesson.number).html\">The exercise</a>")
        links.append("<a href=\"../examples/\(companion.example).html\">The example \(companion.example)</a>")
        if position + 1 < Lesson.all.count {
            let other = Lesson.all[position + 1]
            links.append("<a rel=\"next\" href=\"\(other.pageName).html\">\(try Self.heading(of: other)) →</a>")
        }
        let knife = knives(at: .lesson(lesson.number), root: "../")
        let navigation = { (name: String) in
            "<nav class=\"beside\" aria-label=\"\(name)\">\(links.joined(separator: "\n"))</nav>"
        }
        try put(
            SitePage(
                path: path, title: "\(lesson.number). \(page.title)",
                content: navigation("Lessons, above") + page.html + knife + navigation("Lessons, below"),
                usesScript: !knife.isEmpty))
        try put(
            SitePage(
                path: "exercises/\(lesson.number).html", title: "Exercise \(lesson.number)",
                content: """
                    <p>Of <a href="../lessons/\(lesson.pageName).html">\(Markdown.escaped(try Self.heading(of: lesson)))</a>.
                    The file compiles, and does not do what it should. Change it until its tests pass:</p>
                    <pre tabindex="0" aria-label="Commands"><code>EXERCISES=mine swift test --filter \
                    Exercise\(lesson.number)Tests</code></pre>
                    \(try companion.sources())
                    """))
    }

    /// The part of a page that has its knives; empty where it has none.
    private func knives(at place: Knife.Place, root: String) -> String {
        let parts = Knife.all.filter { $0.place == place }.compactMap { knives[$0.name]?.content(root: root) }
        return parts.isEmpty ? "" : "<h2 id=\"The-knife\">The knife</h2>\n" + parts.joined(separator: "\n")
    }

    /// Notes what a page links to that does not exist.
    private mutating func note(_ page: Markdown, at path: String) {
        problems += page.missingPages.map { "\(path): there is no page \($0)" }
        problems += page.missingSymbols.map { "\(path): there is no symbol \($0)" }
    }

    private static func heading(of lesson: Lesson) throws -> String {
        "\(lesson.number). \(try title(of: lesson.page))"
    }

    // MARK: Articles and examples

    /// The libraries whose pages are articles, with their catalogues, and whose symbols are the reference.
    private static let libraries = ["Purl", "PurlDownloads", "PurlTLS", "PurlTesting", "PurlTrace", "PurlSimulation"]

    private static func catalogue(_ library: String) -> URL {
        Catalogue.root.appendingPathComponent("../../Sources/\(library)/\(library).docc", isDirectory: true)
            .standardizedFileURL
    }

    private static func pages(in folder: URL) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "md" }.sorted { $0.path < $1.path }
    }

    /// What links and pictures of a page lead to.
    ///
    /// - Parameter type: The type whose page it is, as the path of names.
    private func targets(from path: String, library: String?, type: [String] = []) -> Markdown.Targets {
        let root = SitePage.root(from: path)
        let scenes = Set((Lesson.all.flatMap(\.scenes) + Illustration.all.map(\.scene)).map(\.name))
        return Markdown.Targets { name, description in
            if scenes.contains(name) { return Self.player(name, description, root: root) }
            let folder = library.map { "articles/\($0)" } ?? "pictures"
            return Self.picture("\(root)\(folder)/\(name).svg", description)
        } page: { name in
            let name = name.split(separator: "#").first.map(String.init) ?? name
            if name == "Learning" { return ("\(root)lessons/index.html", "Lessons") }
            if let lesson = Lesson.all.first(where: { $0.pageName == name }),
                let title = try? Self.title(of: lesson.page)
            {
                return ("\(root)lessons/\(name).html", "\(lesson.number). \(title)")
            }
            let own = library.map { [$0] } ?? []
            for library in own + Self.libraries {
                let file = Self.catalogue(library).appendingPathComponent("\(name).md")
                if let title = try? Self.title(of: file) {
                    return ("\(root)articles/\(library)/\(name).html", title)
                }
            }
            return nil
        } symbol: { name in
            if Self.libraries.contains(name) { return "\(root)articles/\(name)/\(name).html" }
            return reference.address(of: name, library: library, path: type).map { root + $0 }
        }
    }

    private mutating func writeArticles() throws {
        for library in Self.libraries {
            for file in try Self.pages(in: Self.catalogue(library)) {
                let name = file.deletingPathExtension().lastPathComponent
                let path = "articles/\(library)/\(name).html"
                let page = Markdown(
                    try String(contentsOf: file, encoding: .utf8), targets(from: path, library: library))
                note(page, at: path)
                let knife = knives(at: .article(library: library, name: name), root: "../../")
                try put(
                    SitePage(path: path, title: page.title, content: page.html + knife, usesScript: !knife.isEmpty))
            }
            let resources = Self.catalogue(library).appendingPathComponent("Resources", isDirectory: true)
            for file in (try? FileManager.default.contentsOfDirectory(at: resources, includingPropertiesForKeys: nil))
                ?? []
            {
                try put(String(contentsOf: file, encoding: .utf8), at: "articles/\(library)/\(file.lastPathComponent)")
            }
        }
    }

    private mutating func writeReference() throws {
        for page in reference.pages {
            let content = reference.content(of: page, root: SitePage.root(from: page.address)) { comment in
                // The parts of a comment that have a name.
                let text = comment.replacing(
                    /(?m)^( *- )(Parameters?(?: \w+)?|Returns|Throws|Note|Important|Warning):/
                ) { "\($0.1)**\($0.2):**" }
                let words = Markdown(text, targets(from: page.address, library: page.library, type: page.path))
                note(words, at: page.address)
                return words.html
            }
            try put(SitePage(path: page.address, title: page.title, content: content))
        }
        try put(
            SitePage(path: "reference/index.html", title: "Reference", content: reference.index(root: "../")))
    }

    private mutating func writeExample(_ name: String) throws {
        let file = Catalogue.root.appendingPathComponent("../\(name)/README.md").standardizedFileURL
        let path = "examples/\(name).html"
        let page = Markdown(try String(contentsOf: file, encoding: .utf8), targets(from: path, library: nil))
        note(page, at: path)
        try put(
            SitePage(
                path: path, title: page.title,
                content: page.html + "<h2>Its programs</h2>" + (try LessonCompanion.sources(of: name))))
    }

    // MARK: Indexes

    private mutating func writeIndexes() throws {
        let lessons = Markdown(
            try String(contentsOf: Catalogue.folder.appendingPathComponent("Learning.md"), encoding: .utf8),
            targets(from: "lessons/index.html", library: nil))
        note(lessons, at: "lessons/index.html")
        try put(SitePage(path: "lessons/index.html", title: "Lessons", content: lessons.html))
        let articles = try Self.libraries.map { library in
            let links = try Self.pages(in: Self.catalogue(library)).map { file in
                let address = "\(library)/\(file.deletingPathExtension().lastPathComponent).html"
                return "<li><a href=\"\(address)\">\(Markdown.escaped(try Self.title(of: file)))</a></li>"
            }
            return "<h2>\(library)</h2>\n<ul class=\"columns\">\(links.joined(separator: "\n"))</ul>"
        }
        try put(
            SitePage(path: "articles/index.html", title: "Articles", content: articles.joined(separator: "\n")))
        try put(SitePage(path: "index.html", title: "Purl", content: try start()))
    }

    /// One screen on what Purl is, and a transfer to be played.
    private func start() throws -> String {
        let lessons = try Lesson.all.map { lesson in
            "<li><a href=\"lessons/\(lesson.pageName).html\">\(Markdown.escaped(try Self.title(of: lesson.page)))</a></li>"
        }
        let others = sections.map { address, name in "<a class=\"door\" href=\"\(address)\">\(name)</a>" }
        return """
            <p class="lead">URLSession from scratch, in Swift, without dependencies: HTTP/1.1 with TLS, WebSockets and streams,
            downloads that resume after a cut, a kill or a power loss, and traces that show what happened. This is a first
            transfer: press play, or step with ← and →. The lines that run are marked.</p>
            <div class="start">\(Self.player("one-request", try Self.description(of: .delegates), root: ""))</div>
            <p class="doors"><a class="door" href="lessons/\(Lesson.delegates.pageName).html">Begin with lesson 1</a>
            <a class="door" href="articles/Purl/Purl.html">Read about the library</a>
            \(others.joined(separator: "\n"))</p>
            <h2>The lessons</h2>
            <ol class="columns">\(lessons.joined(separator: "\n"))</ol>
            """
    }

    /// The words of a lesson's first picture.
    private static func description(of lesson: Lesson) throws -> String {
        let text = try String(contentsOf: lesson.page, encoding: .utf8)
        return text.firstMatch(of: /!\[([^\]]*)\]/).map { String($0.1) } ?? ""
    }
}

extension Film {
    /// The film as a page, without a program.
    var page: String { HTMLTrace(recordingWithoutKeys, title: title).html }

    /// The film as a page on which one steps through it.
    func page(showing program: TracedProgram) -> String {
        var page = HTMLTrace(recordingWithoutKeys, title: title)
        page.program = program
        return page.html
    }

    /// The recording without what is another in each run: the random keys of WebSockets.
    private var recordingWithoutKeys: TransferTrace.Recording {
        var recording = recording
        for index in recording.events.indices {
            switch recording.events[index].kind {
            case .requestHead(let head):
                recording.events[index].kind = .requestHead(
                    .init(
                        url: head.url, method: head.method, target: head.target,
                        fields: Self.withoutKeys(head.fields), byteCount: head.byteCount))
            case .responseHead(let head): recording.events[index].kind = .responseHead(Self.withoutKeys(head))
            case .interimHead(let head): recording.events[index].kind = .interimHead(Self.withoutKeys(head))
            default: break
            }
        }
        return recording
    }

    private static func withoutKeys(_ head: TransferTrace.ResponseHead) -> TransferTrace.ResponseHead {
        .init(status: head.status, reason: head.reason, fields: withoutKeys(head.fields), byteCount: head.byteCount)
    }

    private static func withoutKeys(_ fields: [TransferTrace.Field]) -> [TransferTrace.Field] {
        fields.map { field in
            let isKey = ["Sec-WebSocket-Key", "Sec-WebSocket-Accept"].contains(field.name)
            return isKey ? .init(field.name, "(random)") : field
        }
    }
}

extension Lesson {
    /// The name of its page.
    var pageName: String { page.deletingPathExtension().lastPathComponent }
}
