import Foundation

/// Where a download will be saved, and who decided that.
struct Destination: Equatable, Sendable {
    /// Whose choice the name is.
    enum Choice: Equatable, Sendable {
        /// `-o`: an existing file is replaced.
        case user
        /// An earlier attempt at the same URL, which left its parts in this folder.
        case earlierAttempt
        /// The URL's last part, until the server suggests something else.
        case url
        /// The server's suggestion.
        case server
    }

    let file: URL
    let choice: Choice
    /// The file as it is called in sentences.
    let name: String

    var parts: PartFiles { PartFiles(for: file) }
    var mayReplace: Bool { choice == .user }

    private init(file: URL, choice: Choice, name: String) {
        self.file = file
        self.choice = choice
        self.name = name
    }

    /// Decides what can be decided before the server has been asked.
    ///
    /// - Parameters:
    ///   - folder: Where to save, if the user did not choose.
    ///   - earlier: What lies in that folder.
    init(for order: Order, in folder: URL, after earlier: EarlierAttempts) {
        if let output = order.output {
            self.init(file: URL(fileURLWithPath: output, relativeTo: folder), choice: .user, name: output)
        } else if let name = earlier.name(for: order.url) {
            self.init(file: folder.appendingPathComponent(name), choice: .earlierAttempt, name: name)
        } else {
            let name = FileName.suggested(by: order.url)
            self.init(file: folder.appendingPathComponent(name), choice: .url, name: name)
        }
    }

    /// What the server's suggestion makes of it.
    func following(suggestion: String?) -> Destination {
        guard choice == .url else { return self }
        let name = suggestion.map(FileName.safe) ?? name
        let file = file.deletingLastPathComponent().appendingPathComponent(name)
        guard file.path != self.file.path || name != self.name else { return self }
        return Destination(file: file, choice: .server, name: name)
    }

    /// The same name at another place: until the server has answered, nothing is written there.
    func displaced(_ number: Int) -> Destination {
        Destination(file: file.appendingPathExtension("\(number)"), choice: choice, name: name)
    }

    // MARK: Checks

    /// Finds out, before anything is asked of the server, whether `url` may be saved here.
    ///
    /// - Parameter usesParts: Parts of an earlier attempt are gone on with; otherwise they are in the way of nobody.
    func checkPlace(for url: URL, usesParts: Bool) throws(CommandFailure) {
        try checkFolder()
        switch choice {
        case .user: break
        case .earlierAttempt, .server: try checkNothingIsReplaced()
        // The server may suggest another name.
        case .url: break
        }
        try checkParts(for: url, usesParts: usesParts)
    }

    /// A file that the user did not name is never replaced, unless one without bytes by another.
    ///
    /// - Parameter length: How long the new file will be, if that is known.
    func checkNothingIsReplaced(byBytes length: Int64? = nil) throws(CommandFailure) {
        guard !mayReplace, FileManager.default.fileExists(atPath: file.path) else { return }
        if length == 0, PartFiles.length(of: file) == 0 { return }
        throw CommandFailure("“\(name)” exists already. Choose a name with -o, or “-o \(name)” to replace it.")
    }

    /// The parts of somebody else are left alone, unless the user named this very file.
    func checkParts(for url: URL, usesParts: Bool) throws(CommandFailure) {
        if parts.isBeingWritten {
            throw CommandFailure("“\(name).part” is being written by another transfer.")
        }
        guard usesParts, !mayReplace, case .ofAnotherURL(let record) = parts.content(for: url) else { return }
        throw CommandFailure(
            "“\(name).part” is an unfinished download of \(record.url.absoluteString). Choose another name with -o.")
    }

    private func checkFolder() throws(CommandFailure) {
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder), isFolder.boolValue,
            choice == .user
        {
            throw CommandFailure("“\(name)” is a folder.")
        }
        let folder = file.deletingLastPathComponent()
        guard FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder), isFolder.boolValue else {
            throw CommandFailure("There is no folder “\(folder.relativePath)”.")
        }
    }
}
