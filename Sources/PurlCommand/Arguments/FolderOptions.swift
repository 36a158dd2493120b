/// What `purl list` and `purl clean` were told.
struct FolderOptions: Equatable {
    /// Where to look.
    private(set) var folders: [String] = []
    /// Also removes bytes that nothing vouches for.
    private(set) var includesUnknown = false
    /// Only says what would be removed.
    private(set) var isDryRun = false

    /// - Parameters:
    ///   - arguments: The words after the command.
    ///   - flags: The options that the command has.
    ///   - topic: Which text helps.
    init(arguments: [String], flags: Set<String>, _ topic: Usage) throws(UsageError) {
        var onlyFoldersFollow = false
        for word in arguments {
            if onlyFoldersFollow || !word.hasPrefix("-") {
                guard !word.isEmpty else { throw UsageError("A folder's name cannot be empty.", topic) }
                folders.append(word)
                continue
            }
            switch word {
            case "--": onlyFoldersFollow = true
            case "--all" where flags.contains(word): includesUnknown = true
            case "--dry-run" where flags.contains(word): isDryRun = true
            default: throw UsageError("There is no option “\(word)”.", topic)
            }
        }
        if folders.isEmpty { folders = ["."] }
    }
}
