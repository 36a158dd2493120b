import Foundation
import Purl
import Synchronization

/// Where a download is saved, and what decided the name.
struct Destination: Equatable, Sendable {
    /// What decided the name.
    enum Choice: Equatable, Sendable {
        /// `-o`: an existing file is replaced.
        case user
        /// An earlier attempt at the same URL, which left its partial files in this folder.
        case earlierAttempt
        /// The URL's last path component, until the server suggests another name.
        case url
        /// The server's suggestion.
        case server
    }

    let file: URL
    let choice: Choice
    /// The file's name in messages.
    let name: String

    var parts: PartFiles { PartFiles(for: file) }
    var mayReplace: Bool { choice == .user }

    private init(file: URL, choice: Choice, name: String) {
        self.file = file
        self.choice = choice
        self.name = name
    }

    /// The destination before the server has answered.
    ///
    /// - Parameters:
    ///   - folder: Where to save when the request has no path.
    ///   - earlier: The partial files in that folder.
    init(for request: DownloadRequest, in folder: URL, after earlier: EarlierAttempts) {
        if let output = request.output {
            self.init(file: URL(fileURLWithPath: output, relativeTo: folder), choice: .user, name: output)
        } else if let name = earlier.name(for: request.url) {
            self.init(file: folder.appendingPathComponent(name), choice: .earlierAttempt, name: name)
        } else {
            let name = FileName.suggested(by: request.url)
            self.init(file: folder.appendingPathComponent(name), choice: .url, name: name)
        }
    }

    /// The destination after the server has suggested a name.
    func following(suggestion: String?) -> Destination {
        guard choice == .url else { return self }
        let name = suggestion.map(FileName.safe) ?? name
        let file = file.deletingLastPathComponent().appendingPathComponent(name)
        guard file.path != self.file.path || name != self.name else { return self }
        return Destination(file: file, choice: .server, name: name)
    }

    /// The same name at another path. Nothing is written there before the server has answered.
    func displaced(_ number: Int) -> Destination {
        Destination(file: file.appendingPathExtension("\(number)"), choice: choice, name: name)
    }

    // MARK: Checks

    /// Throws when `url` must not be saved here. To be called before the request.
    ///
    /// - Parameter usesParts: Partial files of an earlier attempt are resumed; otherwise they are overwritten.
    func validate(for url: URL, usesParts: Bool) throws(CommandFailure) {
        try checkFolder()
        switch choice {
        case .user: break
        case .earlierAttempt, .server: try checkNothingIsReplaced()
        // The server may suggest another name.
        case .url: break
        }
        try checkParts(for: url, usesParts: usesParts)
    }

    /// Throws when the download would replace a file that the user did not name. An empty file may replace an empty one.
    ///
    /// - Parameter length: The length of the new file, if it is known.
    func checkNothingIsReplaced(byBytes length: Int64? = nil) throws(CommandFailure) {
        guard !mayReplace, FileManager.default.fileExists(atPath: file.path) else { return }
        if length == 0, PartFiles.length(of: file) == 0 { return }
        throw CommandFailure("“\(name)” exists already. Choose a name with -o, or “-o \(name)” to replace it.")
    }

    /// Throws when another transfer writes to the partial files, or when they belong to another URL and the user did not
    /// name this file.
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

/// The paths that the downloads of one command have reserved, so that no two of them write to the same file.
final class PathReservations: Sendable {
    private struct State {
        var owners: [String: URL] = [:]
        var paths: [URL: [String]] = [:]
    }

    private let state = Mutex(State())

    /// Reserves every path that a download of `url` to `destination` may write to, and releases those it had before.
    func reserve(_ destination: Destination, for url: URL) throws(CommandFailure) {
        let paths = destination.parts.paths.map(\.standardizedFileURL.path)
        let other = state.withLock { state -> URL? in
            for path in paths {
                if let other = state.owners[path], other != url { return other }
            }
            for path in state.paths.updateValue(paths, forKey: url) ?? [] { state.owners[path] = nil }
            for path in paths { state.owners[path] = url }
            return nil
        }
        guard let other else { return }
        throw CommandFailure(
            "“\(destination.name)” is used for \(other.absoluteString). Choose another name with -o, or with out= in an"
                + " --input-file.")
    }

    /// Reserves this destination; or, while its name comes from the URL alone, the first free path beside it, which is used
    /// until the server has answered.
    func reserveOrDisplace(_ destination: Destination, for url: URL) throws(CommandFailure) -> Destination {
        guard destination.choice == .url else {
            try reserve(destination, for: url)
            return destination
        }
        var candidate = destination
        var number = 1
        while true {
            if (try? reserve(candidate, for: url)) != nil { return candidate }
            repeat {
                number += 1
                candidate = destination.displaced(number)
            } while candidate.parts.paths.contains { FileManager.default.fileExists(atPath: $0.path) }
        }
    }
}

/// What earlier attempts have left in a folder: for each URL the name of its partial files, or of its complete file while
/// the record is still beside it.
struct EarlierAttempts {
    private struct Entry {
        var name: String
        var bytes: Int64
    }

    private var entries: [String: Entry] = [:]

    init(in folder: URL) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for record in names.sorted() where record.hasSuffix(PartFiles.recordSuffix) {
            let name = String(record.dropLast(PartFiles.recordSuffix.count))
            guard !name.isEmpty else { continue }
            add(PartFiles(for: folder.appendingPathComponent(name)), name)
        }
    }

    /// The name for `url`; of several, the one with the most bytes.
    func name(for url: URL) -> String? {
        entries[url.absoluteString]?.name
    }

    private mutating func add(_ parts: PartFiles, _ name: String) {
        guard let record = ResumeRecord(contentsOf: parts.record) else { return }
        let bytes = parts.validRecord?.bytesReceived ?? parts.lengthOfFinishedFile(for: record.url) ?? 0
        let key = record.url.absoluteString
        guard bytes > entries[key]?.bytes ?? 0 else { return }
        entries[key] = Entry(name: name, bytes: bytes)
    }
}

/// Rules for the names of files.
enum FileName {
    /// The name that the URL suggests.
    static func suggested(by url: URL) -> String {
        let response = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        return safe(response.suggestedFilename ?? "")
    }

    /// The name to use for a suggestion, which is one path component: not a hidden file, not like an option, and short
    /// enough for the suffixes of the partial files.
    static func safe(_ suggestion: String) -> String {
        var name = String(suggestion.drop { $0 == "." || $0 == "-" })
        // File systems accept 255 bytes. The end is kept because it contains the extension.
        while name.utf8.count > 255 - PartFiles.longestSuffix { name.removeFirst() }
        return name.isEmpty ? "download" : name
    }

    /// Whether a name from an input file is one path component that a download can be saved under.
    static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255 - PartFiles.longestSuffix
            && !name.unicodeScalars.contains { $0 == "/" || $0.properties.generalCategory == .control }
    }
}
