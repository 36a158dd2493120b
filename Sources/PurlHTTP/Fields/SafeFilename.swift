/// Makes the name of a file from a text that a server or a URL offers, which is not trusted (RFC 6266 §4.3).
///
/// Whatever the text, the name
/// - is one path component, and neither empty nor "." nor "..";
/// - does not begin with a dot, which would hide the file, nor with a dash, which would make it an option of a command;
/// - has no control characters, C1 and DEL included, no line separators, and no format characters such as U+202E, which
///   shows `exe.gpj` as `jpg.exe`. The joiners U+200C and U+200D stay within a name: some scripts and emoji need them;
/// - has at most as many bytes of UTF-8 as the caller allows, cut between characters, its extension kept;
/// - ends with none of the suffixes that the caller reserves for files of its own, in either case.
package enum SafeFilename {
    /// What a file system accepts as a name, in bytes.
    package static let maximumLength = 255

    /// Longer extensions are cut like the rest of a name.
    private static let longestExtension = 32

    /// The name for `text`; `nil` when nothing of it can be used.
    ///
    /// - Parameters:
    ///   - maximumLength: The most bytes of UTF-8 that the name may have, at least 64.
    ///   - reservedSuffixes: Endings such as ".part", in lower case. The dots of such an ending become underscores.
    package static func make(
        from text: String, maximumLength: Int = SafeFilename.maximumLength, reservedSuffixes: [String] = []
    ) -> String? {
        var name = trimmed(String.UnicodeScalarView(text.unicodeScalars.compactMap(usable)))
        name = trimmed(cut(name, to: maximumLength))
        for suffix in reservedSuffixes where hasSuffix(suffix, name) {
            // As many bytes as before, and no ending of ours any more.
            let count = suffix.unicodeScalars.count
            name = String.UnicodeScalarView(name.dropLast(count) + name.suffix(count).map { $0 == "." ? "_" : $0 })
        }
        return name.isEmpty ? nil : String(name)
    }

    /// Whether `name` ends with one of `suffixes`, which are in lower case, in either case.
    package static func hasSuffix(_ suffixes: [String], _ name: String) -> Bool {
        suffixes.contains { hasSuffix($0, name.unicodeScalars) }
    }

    private static func hasSuffix(_ suffix: String, _ name: String.UnicodeScalarView) -> Bool {
        let ending = name.suffix(suffix.unicodeScalars.count)
        return String(String.UnicodeScalarView(ending)).asciiLowercased.utf8.elementsEqual(suffix.utf8)
    }

    /// The scalar as it may stand in a name; `nil` for one that may not.
    private static func usable(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar {
        // A backslash separates on other systems.
        case "/", "\\": return "_"
        case "\u{200C}", "\u{200D}": return scalar
        default:
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: return nil
            default: return scalar
            }
        }
    }

    /// Without what may not be first, and what some file systems drop at the end. Scalars are compared, since a combining
    /// mark makes another character of a dot.
    private static func trimmed(_ name: String.UnicodeScalarView) -> String.UnicodeScalarView {
        let start = name.drop { isBlank($0) || $0 == "." || $0 == "-" }
        let end = start.reversed().drop { isBlank($0) || $0 == "." }
        return String.UnicodeScalarView(end.reversed())
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar == "\u{200C}" || scalar == "\u{200D}"
    }

    private static func cut(_ name: String.UnicodeScalarView, to limit: Int) -> String.UnicodeScalarView {
        guard length(name) > limit else { return name }
        var ending = String.UnicodeScalarView()
        if let dot = name.lastIndex(of: "."), length(name[dot...]) <= longestExtension {
            ending = String.UnicodeScalarView(name[dot...])
        }
        var room = limit - length(ending)
        var stem = String.UnicodeScalarView()
        for character in String(name) {
            room -= character.utf8.count
            guard room >= 0 else { break }
            stem.append(contentsOf: character.unicodeScalars)
        }
        guard stem.isEmpty else { return stem + ending }
        // One character with more marks than fit.
        room = limit - length(ending)
        for scalar in name {
            room -= Unicode.UTF8.width(scalar)
            guard room >= 0 else { break }
            stem.append(scalar)
        }
        return stem + ending
    }

    private static func length(_ scalars: some Sequence<Unicode.Scalar>) -> Int {
        scalars.reduce(0) { $0 + Unicode.UTF8.width($1) }
    }
}
