import Foundation
import Purl
internal import PurlIO
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

    /// Where the file will be: where a symbolic link leads, if the path is one.
    var place: URL {
        FileEntry(at: url, followingLinks: true).regularFile == nil ? url.withoutLinksInFolder : url.withoutLinks
    }

    /// A recorder for the file. It keeps the beginning of bodies where the file has a place for them.
    func makeTrace() -> TransferTrace {
        var options = TransferTrace.Options()
        if format.usesContent { options.maximumContent = 1 << 20 }
        return TransferTrace(options: options)
    }

    /// Throws before anything is transferred where the file could not be written at the end, or must not be replaced.
    ///
    /// - Parameter inputs: The files that the command reads.
    func check(besides inputs: [URL] = []) throws(CommandFailure) {
        let folder = url.deletingLastPathComponent()
        guard FileEntry(at: folder, followingLinks: true) == .folder else {
            throw CommandFailure("There is no folder “\(folder.relativePath)” for the trace.")
        }
        switch FileEntry(at: url, followingLinks: true) {
        case .missing, .link: break
        case .folder: throw CommandFailure("“\(path)” is a folder, not a file for the trace.")
        case .device, .pipe, .socket: throw CommandFailure("“\(path)” is not a regular file, as a trace has to be.")
        case .regular(let entry):
            let isInput = inputs.contains {
                FileEntry(at: $0, followingLinks: true).regularFile?.identity == entry.identity
            }
            guard !isInput else {
                throw CommandFailure("“\(path)” is a file that this command reads: choose another name for the trace.")
            }
        }
    }

    /// Writes what was recorded.
    func write(_ recording: TransferTrace.Recording) throws(CommandFailure) {
        do {
            try format.data(of: recording).write(to: place, options: .atomic)
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
