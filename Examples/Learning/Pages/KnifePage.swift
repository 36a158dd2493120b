import Foundation

/// A slider that chooses where a knife falls, with the plays of all places; without a script, a list of them.
struct KnifePage {
    private let knife: Knife
    private let plays: [Knife.Play]

    init(_ knife: Knife, _ plays: [Knife.Play]) {
        self.knife = knife
        self.plays = plays
    }

    /// The file name of the player for a place.
    static func player(_ knife: Knife, _ position: Int) -> String { "\(knife.name)-\(position).html" }

    /// - Parameter root: The way to the site's root.
    func content(root: String) -> String {
        let items = plays.enumerated().map { position, play in
            """
            <li class="\(play.outcome.isRight ? "good" : "bad")"><a href="\(root)knives/\(Self.player(knife, position))">\
            \(Markdown.escaped(knife.words(play.cut)))</a>: <span>\(Markdown.escaped(play.outcome.words))</span></li>
            """
        }
        let middle = plays.count / 2
        return """
            <section class="knife" id="knife-\(knife.name)" aria-label="\(Markdown.escaped(knife.title))">
            <h3>\(Markdown.escaped(knife.title))</h3>
            <div class="controls" hidden>
            <p><label>\(knife.blade.label)
            <input type="range" min="0" max="\(plays.count - 1)" value="\(middle)" step="1"></label> <output></output></p>
            <p class="outcome" role="status"></p>
            <iframe title="Player: \(Markdown.escaped(knife.title))" src="\(root)knives/\(Self.player(knife, middle))"
            loading="lazy"></iframe>
            </div>
            <details class="plays"><summary>All \(plays.count) places</summary><ol>\(items.joined(separator: "\n"))</ol></details>
            </section>
            """
    }

    /// The page of the game.
    ///
    /// - Parameters:
    ///   - moves: What came of every move, as JSON.
    ///   - programs: The two clients' sources, as markup.
    static func game(moves: Data, count: Int, programs: String) -> String {
        let json = String(decoding: moves, as: UTF8.self).replacing("<", with: "\\u003c")
        return """
            <p class="lead">Ten small transfers, a knife and a clock. Each client is launched twice, and downloads a file of a few
            bytes. You cut the connection of the first launch, and decide whether the file changes on the server before the second.
            Cause a wrong file if you can: first with the naive client, which appends whatever comes, then with Purl.</p>
            <form id="game" hidden>
            <p><label>The transfer <select name="transfer">\((1...10).map { "<option value=\"\($0 - 1)\">\($0)</option>" }
                .joined())</select></label> <span id="trait"></span></p>
            <p><label>The knife <input type="range" name="cut" min="0" max="12" value="5"></label> <span id="place"></span></p>
            <p><label>The clock <select name="clock"><option value="0">the file stays as it is</option>
            <option value="1">the file changes between the launches</option></select></label></p>
            <p><label>The client <select name="client"><option value="naive">the naive one</option>
            <option value="purl">Purl</option></select></label> <button type="submit">Cut</button></p>
            <p class="outcome" id="verdict" role="status"></p>
            <pre id="file" tabindex="0" aria-label="The file"></pre>
            <pre id="wire" tabindex="0" aria-label="The requests"></pre>
            <p id="score" role="status"></p>
            </form>
            <script type="application/json" id="moves">\(json)</script>
            <p>All \(count) moves were played by the programs below; what you see is what they did. A file that is not
            complete yet is not wrong as long as the client knows: then its task has ended with an error.</p>
            \(programs)
            """
    }
}
