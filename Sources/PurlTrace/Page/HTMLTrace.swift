import Foundation
public import Purl
internal import PurlHTTP

/// A trace as a web page on which one steps through the events.
///
/// ```swift
/// try HTMLTrace(trace, title: "A film").html.write(to: file, atomically: true, encoding: .utf8)
/// ```
///
/// The page is one file, and loads nothing else. It shows the lanes of a ``Diagram``, and a time line with a slider; the keys
/// ← → Home End step, and the space bar plays. For each event it says in words what has happened, where, and from when to when; what
/// was sent or received; the state of the task; how many bytes are written, and how many the record vouches for; and what the
/// delegate was called with. Events can be searched, and filtered by task and connection. It follows the reader's preference
/// for light or dark colours, and works with the keyboard and a screen reader.
///
/// Texts of servers are never markup: they are data of the page's script, which shows them as text; and the page's policy
/// allows that one script and nothing else. The same recording makes the same bytes.
public struct HTMLTrace: Sendable {
    /// What the page is called.
    public var title: String
    /// The program that is shown beside the events; by default none is.
    public var program: TracedProgram?
    private let recording: TransferTrace.Recording

    /// The page of a trace so far.
    ///
    /// - Parameter title: What the page is called.
    public init(_ trace: TransferTrace, title: String = "A transfer") {
        self.init(trace.recording, title: title)
    }

    /// The page of a recording.
    ///
    /// - Parameter title: What the page is called.
    public init(_ recording: TransferTrace.Recording, title: String = "A transfer") {
        self.recording = recording.bounded
        self.title = title
    }

    /// The page.
    public var html: String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="\(Player.policy)">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <link rel="icon" href="data:,">
        <title>\(title.asMarkup)</title>
        <style>\(Player.style)</style>
        </head>
        <body>
        <header><h1>\(title.asMarkup)</h1><p id="summary">The trace is read …</p></header>
        <noscript><p>This page steps through a recording, and its script does that.</p></noscript>
        <script type="application/json" id="trace">\(TracePage(recording, program: program).json)</script>
        <script>\(Player.script)</script>
        </body>
        </html>

        """
    }
}

/// What is the same on each page.
private enum Player {
    static let script = String(decoding: PackageResources.player_js, as: UTF8.self)
    static let style = String(decoding: PackageResources.player_css, as: UTF8.self)

    /// Content Security Policy: this script and this style alone, no other request, no form. The icon is an empty one, so that
    /// browsers ask for none.
    static let policy = """
        default-src 'none'; script-src '\(digest(of: script))'; style-src '\(digest(of: style))'; img-src data:; \
        base-uri 'none'; form-action 'none'
        """

    private static func digest(of text: String) -> String {
        var digest = SHA256()
        let bytes = Array(text.utf8)
        digest.update(bytes.span.bytes)
        return "sha256-" + Data(digest.finalize()).base64EncodedString()
    }
}
