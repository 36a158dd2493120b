import Foundation

/// A page of the site. Its links are relative, so that the site works below any path, and from a file system.
struct SitePage {
    /// Where it is, from the site's root: `lessons/01-Delegates.html`.
    let path: String
    let title: String
    /// Markup.
    let content: String
    /// Whether the content needs the site's script.
    var usesScript = false

    /// The way to the site's root.
    var root: String { Self.root(from: path) }

    static func root(from path: String) -> String {
        String(repeating: "../", count: path.count { $0 == "/" })
    }

    private static let sections = [
        ("index.html", "Start"), ("lessons/index.html", "Lessons"), ("articles/index.html", "Articles"),
        ("reference/index.html", "Reference"),
    ]

    /// - Parameter others: Further sections, with their addresses from the root.
    func html(sections others: [(String, String)]) -> String {
        let links = (Self.sections + others).map { address, name in
            let folder = address.split(separator: "/").dropLast().first.map { $0 + "/" }
            let mark =
                address == path
                ? " aria-current=\"page\"" : folder.map(path.hasPrefix) == true ? " aria-current=\"true\"" : ""
            return "<a href=\"\(root)\(address)\"\(mark)>\(name)</a>"
        }
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <link rel="icon" href="data:,">
            <title>\(Markdown.escaped(title)) – Purl</title>
            <link rel="stylesheet" href="\(root)site.css">
            <noscript><style>.player iframe { display: none; } .player img { display: block; }</style></noscript>
            </head>
            <body>
            <a class="skip" href="#content">To the content</a>
            <nav aria-label="Site">\(links.joined(separator: " "))</nav>
            <main id="content" tabindex="-1">
            <h1>\(Markdown.escaped(title))</h1>
            \(content)
            </main>
            \(usesScript ? "<script src=\"\(root)site.js\"></script>" : "")
            </body>
            </html>

            """
    }
}
