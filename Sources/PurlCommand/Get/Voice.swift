/// What `purl get` says about one download, or about all.
struct Voice: Sendable {
    let console: Console
    let isQuiet: Bool
    /// How the download is called before its file has a name; `nil` when there is only one, or all are meant.
    let subject: String?

    /// Good news, for those who want it.
    func tell(_ sentence: String) {
        if !isQuiet { console.say(sentence) }
    }

    /// Bad news.
    func complain(_ sentence: String) {
        console.say("purl: " + (subject.map { "\($0): " } ?? "") + sentence)
    }
}
