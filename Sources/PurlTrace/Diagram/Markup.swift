extension StringProtocol {
    /// The text as SVG and HTML have it in an element or an attribute. Letters that are not seen and change how others are
    /// shown become U+FFFD, and so do those that XML does not have (XML 1.0 §2.2).
    package var asMarkup: String {
        var markup = ""
        // By scalars: a letter such as U+0600 and a "<" after it are one `Character`.
        for scalar in unicodeScalars {
            switch scalar {
            case "&": markup += "&amp;"
            case "<": markup += "&lt;"
            case ">": markup += "&gt;"
            case "\"": markup += "&quot;"
            case "\t", "\n", "\r": markup += " "
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{61C}", "\u{200E}", "\u{200F}", "\u{2028}"..."\u{202E}",
                "\u{2066}"..."\u{2069}", "\u{FFFE}", "\u{FFFF}":
                markup += "\u{FFFD}"
            default: markup.unicodeScalars.append(scalar)
            }
        }
        return markup
    }
}
