import Foundation
import Purl
import PurlTrace

/// The file of `--trace`, in the form that its extension names.
struct TraceFile: Equatable {
    let path: String
    let format: TraceFormat

    init(_ path: String) throws(BadValue) {
        guard let format = TraceFormat(path: path) else {
            throw BadValue("needs a name that ends in \(Self.extensions), not “\(path)”")
        }
        self.path = path
        self.format = format
    }

    private static let extensions: String = {
        let names = TraceFormat.allCases.map { ".\($0.rawValue)" }
        return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }()

    private var url: URL { URL(fileURLWithPath: path) }

    /// A recorder for the file. It keeps the beginning of bodies where the file has a place for them.
    func makeTrace() -> TransferTrace {
        var options = TransferTrace.Options()
        if format.usesContent { options.maximumContent = 1 << 20 }
        return TransferTrace(options: options)
    }

    /// Throws before anything is transferred where the file could not be written at the end.
    func check() throws(CommandFailure) {
        let folder = url.deletingLastPathComponent()
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder), isFolder.boolValue else {
            throw CommandFailure("There is no folder “\(folder.relativePath)” for the trace.")
        }
        if FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue {
            throw CommandFailure("“\(path)” is a folder, not a file for the trace.")
        }
    }

    /// Writes what was recorded.
    func write(_ recording: TransferTrace.Recording) throws(CommandFailure) {
        do {
            try format.data(of: recording).write(to: url, options: .atomic)
        } catch {
            throw CommandFailure("“\(path)” cannot be written: \((error as NSError).localizedDescription)")
        }
    }
}

extension OptionRow {
    /// `--trace`.
    static func trace(_ path: WritableKeyPath<Values, TraceFile?>, _ help: String) -> Self {
        .value("--trace", "FILE", path, TraceFile.init, help)
    }
}
