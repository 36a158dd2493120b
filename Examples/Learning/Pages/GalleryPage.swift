import Foundation
import Purl
import PurlTrace

/// The index of the gallery of failures, whose exhibits the fault matrix has made.
struct GalleryPage {
    /// A failure.
    struct Exhibit: Decodable {
        let name: String
        let title: String
        let kind: String
        let code: String
        let number: Int
        let sentence: String
        let reason: String
        let advice: String

        /// What happened. It was recorded once, so that its page is always the same.
        var film: Film {
            get throws {
                let file = GalleryPage.folder.appendingPathComponent("\(name).json")
                return Film(
                    title: title, recording: try TransferTrace.Recording(json: Data(contentsOf: file)), printed: [])
            }
        }
    }

    /// Where the films are, and their index.
    private static let folder = Catalogue.root.appendingPathComponent("Gallery", isDirectory: true)

    let exhibits: [Exhibit]

    init() throws {
        let index = Self.folder.appendingPathComponent("gallery.json")
        exhibits = try JSONDecoder().decode([Exhibit].self, from: Data(contentsOf: index))
    }

    /// The codes that there are, each with the number of its exhibits.
    private var codes: [(code: String, count: Int)] {
        Dictionary(grouping: exhibits, by: \.code).map { ($0.key, $0.value.count) }.sorted { $0.code < $1.code }
    }

    /// The markup of the index.
    func content() throws -> String {
        let buttons = codes.map { code, count in
            "<button type=\"button\" id=\"code-\(code)\" data-code=\"\(code)\">\(code) <span class=\"faint\">\(count)</span></button>"
        }
        return """
            <p class="lead">\(exhibits.count) failures, each acted out by the tests' fault matrix against a server in memory: what
            happened, what the delegate was called with, the error, and what a program should do.</p>
            <form role="search" class="wide">
            <p><label>Search by code, number or words <input type="search" id="find" autocomplete="off"></label>
            <span id="found" role="status"></span></p>
            <p class="codes">\(buttons.joined(separator: "\n"))</p>
            </form>
            \(try exhibits.map(Self.section).joined(separator: "\n"))
            """
    }

    private static func section(_ exhibit: Exhibit) throws -> String {
        let text = { (text: String) in Markdown.escaped(text) }
        let number = "\(exhibit.number)".replacing("-", with: "−")
        return """
            <section class="exhibit" id="\(exhibit.name)" data-code="\(text(exhibit.code))" data-number="\(exhibit.number)">
            <h2>\(text(exhibit.title))</h2>
            <dl>
            <dt>task</dt><dd>\(text(exhibit.kind))</dd>
            <dt>error</dt><dd><code>URLError.\(text(exhibit.code))</code>, \(number)</dd>
            <dt>sentence</dt><dd>\(text(exhibit.sentence))</dd>
            <dt>reason</dt><dd>\(text(exhibit.reason))</dd>
            </dl>
            <p><strong>What to do.</strong> \(inline(exhibit.advice))</p>
            <pre tabindex="0" aria-label="Calls of the delegate"><code>\(text(try exhibit.film.calls.joined(separator: "\n")))</code></pre>
            <p><a href="\(exhibit.name).html">Step through it</a></p>
            <details><summary>The picture</summary>
            <figure class="picture" tabindex="0" role="group" aria-label="Picture"><a href="\(exhibit.name).svg"><img
            src="\(exhibit.name).svg" loading="lazy" alt="Sequence diagram: \(text(exhibit.title))"></a></figure></details>
            </section>
            """
    }

    /// A sentence with `code` in it.
    private static func inline(_ sentence: String) -> String {
        sentence.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { position, part in
            position % 2 == 0 ? Markdown.escaped(part) : "<code>\(Markdown.escaped(part))</code>"
        }.joined()
    }
}
