import Foundation
import Purl
import PurlDownloads
import PurlHTTP
internal import PurlIO
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

    /// What is at the path.
    enum Kind: Equatable, Sendable {
        /// A file, or nothing yet: the bytes are gathered in partial files, and can be resumed.
        case file(PartFiles)
        /// The bytes are written there as they arrive.
        case stream(StreamOutput)
    }

    let file: URL
    let kind: Kind
    let choice: Choice
    /// The file's name in messages.
    let name: String
    /// Why the download is saved under another name than the user, the URL or the server has given, as a sentence.
    let remark: String?
    /// The file is an earlier download of the same URL, which `-N` replaces by a newer version.
    var isUpdate = false

    /// The partial files; `nil` for a stream.
    var parts: PartFiles? { if case .file(let parts) = kind { parts } else { nil } }
    var mayReplace: Bool { choice == .user || isUpdate }

    /// Every path that the download may write to.
    var paths: [URL] { parts?.paths ?? [file] }

    private init(file: URL, kind: Kind, choice: Choice, name: String, remark: String? = nil) {
        self.file = file
        self.kind = kind
        self.choice = choice
        self.name = name
        self.remark = remark
    }

    private init(parts: PartFiles, choice: Choice, name: String, remark: String? = nil) {
        self.init(file: parts.file, kind: .file(parts), choice: choice, name: name, remark: remark)
    }

    /// The same download with another file.
    private func moved(to file: URL, choice: Choice, name: String, remark: String?) -> Destination {
        let layer = parts?.layer ?? SystemFiles()
        return Destination(
            parts: PartFiles(for: file, through: layer), choice: choice, name: name, remark: remark)
    }

    /// The destination before the server has answered. Throws when nothing can be saved to the request's path.
    ///
    /// - Parameters:
    ///   - folder: Where to save when the request has no path.
    ///   - earlier: The partial files in that folder.
    ///   - updates: Whether a file of an earlier command is replaced, also one that has checked servers otherwise.
    ///   - layer: What files are read and changed through.
    init(
        for request: DownloadRequest, in folder: URL, after earlier: EarlierAttempts, updates: Bool = false,
        through layer: any FileLayer = SystemFiles()
    ) throws(CommandFailure) {
        if let output = request.output {
            let url = URL.file(at: output, in: folder)
            switch try OutputPath(at: url, name: output) {
            case .file:
                try FileName.validate(url)
                self.init(parts: PartFiles(for: url, through: layer), choice: .user, name: output)
            case .linkedFile(let target):
                try FileName.validate(target)
                self.init(
                    parts: PartFiles(for: target, through: layer), choice: .user, name: target.path,
                    remark: "“\(output)” is a symbolic link: saving as “\(target.path)”.")
            case .stream(let stream):
                self.init(file: url, kind: .stream(stream), choice: .user, name: output)
            }
        } else if let name = earlier.name(for: request.urls)
            ?? (updates ? earlier.name(for: request.urlsOfOtherChecking) : nil)
        {
            let file = folder.appendingPathComponent(name)
            self.init(parts: PartFiles(for: file, through: layer), choice: .earlierAttempt, name: name)
        } else {
            let offered = FileName.offered(by: request.url) ?? FileName.unnamed
            let name = FileName.safe(offered)
            let file = folder.appendingPathComponent(name)
            self.init(
                parts: PartFiles(for: file, through: layer), choice: .url, name: name,
                remark: FileName.remark(offered, name))
        }
    }

    /// The destination after the server has suggested a name.
    func following(suggestion: String?) -> Destination {
        guard choice == .url else { return self }
        let name = suggestion.map(FileName.safe) ?? name
        let file = file.deletingLastPathComponent().appendingPathComponent(name)
        guard file.path != self.file.path || name != self.name else { return self }
        return moved(
            to: file, choice: .server, name: name, remark: suggestion.flatMap { FileName.remark($0, name) })
    }

    /// The same name at another path. Nothing is written there before the server has answered.
    func displaced(_ number: Int) -> Destination {
        moved(to: file.appendingPathExtension("\(number)"), choice: choice, name: name, remark: remark)
    }

    // MARK: Checks

    /// Throws when nothing may be saved here. To be called before the partial files are locked.
    func validatePlace() throws(CommandFailure) {
        guard parts != nil else { return }
        try checkFolder()
        switch choice {
        case .user: break
        case .earlierAttempt, .server: try checkNothingIsReplaced()
        // The server may suggest another name.
        case .url: break
        }
    }

    /// Locks the partial files of this destination for a download of `urls`, and throws when they must not be changed. Another process may
    /// look at them for a moment; one that writes to them is waited for shortly, and then named.
    ///
    /// What is at the partial files' paths is never overwritten unless it is an unfinished download, and of one of `urls` or
    /// under a name that the user has chosen.
    func lock(_ sink: FileHandleSink, for urls: [URL]) async throws(CommandFailure) {
        guard let parts else { return }
        for attempt in 1... {
            do {
                try sink.lock()
            } catch {
                if let what = parts.obstacle { throw PartFiles.refusal(parts.bytes, what) }
                guard error.isOfTakenFile else {
                    throw CommandFailure("“\(name).part” cannot be written: \(error.reason)")
                }
                guard await wait(after: attempt) else { throw busy(parts) }
                continue
            }
            // The record may still be that of the transfer which has completed the file, until it has removed it.
            guard parts.isBeingFinished, await wait(after: attempt) else { break }
        }
        do throws(CommandFailure) {
            try check(parts, for: urls)
        } catch {
            parts.removeIfEmpty()
            throw error
        }
    }

    /// Waits for another transfer; false when that is long enough.
    private func wait(after attempt: Int) async -> Bool {
        guard attempt < Self.lockAttempts else { return false }
        return (try? await Task.sleep(for: Self.lockDelay)) != nil
    }

    private static let lockAttempts = 10
    private static let lockDelay = Duration.milliseconds(50)

    /// The failure where another transfer has these partial files.
    func busy(_ parts: PartFiles) -> CommandFailure {
        let writer = parts.writer.map { " (process \($0))" } ?? ""
        return CommandFailure("“\(name).part” is being written by another transfer\(writer).")
    }

    /// Throws when the download would replace a file that the user did not name. An empty file may replace an empty one.
    ///
    /// - Parameter length: The length of the new file, if it is known.
    func checkNothingIsReplaced(byBytes length: Int64? = nil) throws(CommandFailure) {
        guard !mayReplace, FileEntry(at: file) != .missing else { return }
        if length == 0, parts?.length(of: file) == 0 { return }
        guard FileEntry(at: file, followingLinks: true) != .folder else { throw .isFolder(name) }
        throw CommandFailure("“\(name)” exists already. Choose a name with -o, or “-o \(name)” to replace it.")
    }

    /// Removes what an earlier transfer has left under the names of the partial files, so that other files can have them. Throws
    /// when another one writes to them, or when they must not be changed.
    func vacate(_ parts: PartFiles, for urls: [URL]) throws(CommandFailure) {
        let lock: FileLock?
        do throws(FileLock.Failure) {
            lock =
                parts.layer.entry(parts.bytes.path) == .missing ? nil : try FileLock(parts.bytes, through: parts.layer)
        } catch {
            if error == .taken { throw busy(parts) }
            // Then the check tells what it is.
            lock = nil
        }
        if parts.isBeingFinished { throw busy(parts) }
        try withExtendedLifetime(lock) { () throws(CommandFailure) in
            try check(parts, for: urls)
            if lock != nil { try parts.remove() }
        }
    }

    /// Throws when the partial files are not an unfinished download, or when they belong to none of `urls` and the user did not
    /// name this file.
    func check(_ parts: PartFiles, for urls: [URL]) throws(CommandFailure) {
        try parts.validate()
        guard choice != .user, case .ofAnotherURL(let record) = parts.content(for: urls) else { return }
        throw CommandFailure(
            "“\(name).part” is an unfinished download of \(record.shownURL). Choose another name with -o.")
    }

    private func checkFolder() throws(CommandFailure) {
        var isFolder: ObjCBool = false
        let folder = file.deletingLastPathComponent()
        guard FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder), isFolder.boolValue else {
            let given = NSString(string: name).deletingLastPathComponent
            throw CommandFailure("There is no folder “\(given.isEmpty ? folder.path : given)”.")
        }
    }
}

/// The paths that the downloads of one command have reserved, so that no two of them write to the same file.
final class PathReservations: Sendable {
    private struct State {
        var owners: [String: URL] = [:]
        var paths: [URL: [String]] = [:]
    }

    private let trace: String?
    private let state = Mutex(State())

    /// - Parameter trace: The file of the command's trace, which no download may write to.
    init(besides trace: TraceFile? = nil) {
        self.trace = trace?.place.path
    }

    /// Whether a download to this destination may write to the file of the trace, its list of digests included.
    func isOfTrace(_ destination: Destination) -> Bool {
        guard let trace else { return false }
        return (destination.paths + [PieceDigests.list(of: destination.file)])
            .contains { $0.withoutLinksInFolder.path == trace }
    }

    /// Reserves every path that a download of `url` to `destination` may write to, and releases those it had before.
    func reserve(_ destination: Destination, for url: URL) throws(CommandFailure) {
        guard !isOfTrace(destination) else { throw refusal(of: destination, usedFor: "the trace") }
        let paths = destination.paths.map(\.withoutLinksInFolder.path)
        let other = state.withLock { state -> URL? in
            for path in paths {
                if let other = state.owners[path], other != url { return other }
            }
            for path in state.paths.updateValue(paths, forKey: url) ?? [] { state.owners[path] = nil }
            for path in paths { state.owners[path] = url }
            return nil
        }
        if let other { throw refusal(of: destination, usedFor: other.shownOrigin) }
    }

    private func refusal(of destination: Destination, usedFor purpose: String) -> CommandFailure {
        CommandFailure(
            "“\(destination.name)” is used for \(purpose). Choose another name with -o, or with out= in an"
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
            } while candidate.paths.contains { FileEntry(at: $0) != .missing }
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
        let stems = names.compactMap { name in
            [PartFiles.oldRecordSuffix, PartFiles.recordSuffix].first(where: name.hasSuffix)
                .map { String(name.dropLast($0.count)) }
        }
        for stem in Set(stems).sorted() where !stem.isEmpty {
            add(PartFiles(for: folder.appendingPathComponent(stem)), stem)
        }
    }

    /// The name for the file of `urls`; of several, the one with the most bytes.
    func name(for urls: [URL]) -> String? {
        urls.compactMap { entries[$0.absoluteString] }.max { $0.bytes < $1.bytes }?.name
    }

    private mutating func add(_ parts: PartFiles, _ name: String) {
        guard let record = ResumeRecord(contentsOf: parts.record) ?? ResumeRecord(contentsOf: parts.oldRecord)
        else { return }
        let bytes = parts.validRecord?.bytesReceived ?? parts.lengthOfFinishedFile(for: [record.url]) ?? 0
        let key = JoinedBytes.origin(of: record.url).absoluteString
        guard bytes > entries[key]?.bytes ?? 0 else { return }
        entries[key] = Entry(name: name, bytes: bytes)
    }
}

/// Rules for the names of files.
enum FileName {
    /// The name of a file for which neither the URL nor the server has one.
    static let unnamed = "index.html"

    /// The name in the URL; `nil` when its path ends with “/”, or is empty.
    static func offered(by url: URL) -> String? {
        let path = url.path(percentEncoded: true)
        guard !path.isEmpty, !path.hasSuffix("/") else { return nil }
        return URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil).suggestedFilename
    }

    /// The name that the server gives: in `Content-Disposition`, or in the URL that it redirects to.
    static func offered(by response: HTTPURLResponse) -> String? {
        let field = response.value(forHTTPHeaderField: "Content-Disposition")
        guard field.flatMap(ContentDisposition.init)?.filename == nil else { return response.suggestedFilename }
        return response.url.flatMap(offered)
    }

    /// The name to use for a suggestion: safe, not one of a partial file, and short enough for the suffixes of those.
    static func safe(_ suggestion: String) -> String {
        SafeFilename.make(
            from: suggestion, maximumLength: SafeFilename.maximumLength - PartFiles.longestSuffix,
            reservedSuffixes: PartFiles.suffixes) ?? "download"
    }

    /// A sentence for a suggestion that is not used because it is the name of a partial file or a record.
    static func remark(_ suggestion: String, _ name: String) -> String? {
        guard SafeFilename.hasSuffix(PartFiles.suffixes, suggestion) else { return nil }
        return "“\(suggestion)” is a name of purl's own files: saving as “\(name)”."
    }

    /// Throws when the partial files of `file` cannot have their names, or no record can name them.
    static func validate(_ file: URL) throws(CommandFailure) {
        let name = file.lastPathComponent
        guard !name.utf8.contains(where: { $0 < 0x20 }) else {
            let shown = String(name.unicodeScalars.map { $0.value < 0x20 ? "\u{FFFD}" : Character($0) })
            throw CommandFailure(
                "“\(shown)” has a line break or another control character, which purl cannot record. Choose another name"
                    + " with -o.")
        }
        let surplus = name.utf8.count + PartFiles.longestSuffix - maximumLength(beside: file)
        guard surplus <= 0 else {
            throw CommandFailure(
                "“\(name)” is too long by \(surplus) \(surplus == 1 ? "byte" : "bytes"): until it is complete, purl needs"
                    + " room for “\(PartFiles.newRecordSuffix)” behind it. Choose another name with -o.")
        }
    }

    /// How many bytes a name may have in the folder of `file`.
    static func maximumLength(beside file: URL) -> Int {
        let limit = pathconf(file.deletingLastPathComponent().path, Int32(_PC_NAME_MAX))
        return limit > 0 ? limit : SafeFilename.maximumLength
    }

    /// Whether a name from an input file is one path component that a download can be saved under.
    static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255 - PartFiles.longestSuffix
            && !name.unicodeScalars.contains { scalar in
                scalar == "/"
                    || [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
            }
    }
}
