/// Finds the name that a misspelt word may be meant as.
enum NearestName {
    /// `nil` when no name is near enough. Dashes and the case of letters do not count.
    static func of(_ word: String, among names: [String]) -> String? {
        let word = letters(word.prefix { $0 != "=" })
        let candidates = names.compactMap { name -> (name: String, mistakes: Int)? in
            let letters = letters(name[...])
            let mistakes = isAbbreviation(word, of: letters) ? 0 : distance(word, letters)
            // As many mistakes as are likely in a word of this length.
            return mistakes <= (word.count + 1) / 3 ? (name, mistakes) : nil
        }
        return candidates.min { $0.mistakes < $1.mistakes }?.name
    }

    /// The name that a word is a misspelling of; `nil` for a name, and for what is not near one.
    static func misspelling(_ word: String, of names: [String]) -> String? {
        let word = word.lowercased()
        return names.contains(word) ? nil : of(word, among: names)
    }

    private static func letters(_ word: Substring) -> [Character] {
        Array(word.lowercased().drop { $0 == "-" })
    }

    /// Whether a word of several letters is another with some left out, but not the first: “ls” of “list”.
    private static func isAbbreviation(_ word: [Character], of name: [Character]) -> Bool {
        guard word.count > 1, word.first == name.first else { return false }
        var rest = word[...]
        for letter in name where letter == rest.first { rest = rest.dropFirst() }
        return rest.isEmpty
    }

    /// How many letters have to be inserted, left out, replaced, or exchanged with the next one.
    private static func distance(_ word: [Character], _ name: [Character]) -> Int {
        var rows = [Array(0...name.count)]
        for (i, letter) in word.enumerated() {
            var row = [i + 1]
            for (j, other) in name.enumerated() {
                var cost = min(rows[i][j] + (letter == other ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, letter == name[j - 1], word[i - 1] == other {
                    cost = min(cost, rows[i - 1][j - 1] + 1)
                }
                row.append(cost)
            }
            rows.append(row)
        }
        return rows[word.count][name.count]
    }
}
