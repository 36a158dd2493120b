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

    /// Where the trace is to be written. Throws, before anything is transferred, where it could not be or must not be.
    ///
    /// - Parameter inputs: The files that the command reads.
    func checked(besides inputs: [URL] = []) throws(CommandFailure) -> TracePlace {
        let folder = url.deletingLastPathComponent()
        guard FileEntry(at: folder, followingLinks: true) == .folder else {
            throw CommandFailure("There is no folder “\(folder.relativePath)” for the trace.")
        }
        // The trace is written under another name first, so it takes a folder that can be written to, also where the file exists.
        guard FileManager.default.isWritableFile(atPath: place.deletingLastPathComponent().path) else {
            throw CommandFailure("No trace can be written into the folder of “\(path)”.")
        }
        guard url.lastPathComponent.utf8.count <= FileName.maximumLength(beside: url) else {
            throw CommandFailure("The name of “\(path)” is too long for a file.")
        }
        switch FileEntry(at: url, followingLinks: true) {
        case .missing, .link:
            guard FileEntry(at: url) == .missing else {
                throw CommandFailure("“\(path)” is a symbolic link that leads to no file.")
            }
            return TracePlace(self, of: nil)
        case .folder: throw CommandFailure("“\(path)” is a folder, not a file for the trace.")
        case .device, .pipe, .socket: throw CommandFailure("“\(path)” is not a regular file, as a trace has to be.")
        case .regular(let entry):
            let isUsed = (inputs.flatMap(Self.files) + Self.openFiles).contains {
                FileEntry(at: $0, followingLinks: true).regularFile?.identity == entry.identity
            }
            guard !isUsed else {
                throw CommandFailure(
                    "“\(path)” is a file that this command reads or writes: choose another name for the trace.")
            }
            return TracePlace(self, of: entry.identity)
        }
    }

    /// The files that are read where a path names a folder of them, such as one of certificates.
    private static func files(at path: URL) -> [URL] {
        guard FileEntry(at: path, followingLinks: true) == .folder else { return [path] }
        let names = try? FileManager.default.contentsOfDirectory(atPath: path.path)
        return (names ?? []).map { path.appendingPathComponent($0) }
    }

    /// What the process's descriptors are: its standard input and outputs, and others that a path such as `/dev/fd/3` names.
    private static var openFiles: [URL] { files(at: URL(fileURLWithPath: "/dev/fd")) }
}

/// Where a trace is to be written, as it was found before the command began.
struct TracePlace {
    private let file: TraceFile
    private let url: URL
    /// The file that the trace takes the place of.
    private let former: FileStatus.Identity?

    fileprivate init(_ file: TraceFile, of former: FileStatus.Identity?) {
        self.file = file
        self.former = former
        url = file.place
    }

    /// Writes what was recorded, in one step. Throws where another file has come there meanwhile.
    func write(_ recording: TransferTrace.Recording) throws(CommandFailure) {
        do {
            try put(Array(try file.format.data(of: recording)))
        } catch let error as SystemError where error.code == EEXIST {
            throw CommandFailure("“\(file.path)” was made by another program meanwhile: no trace was written.")
        } catch {
            throw CommandFailure("“\(file.path)” cannot be written: \(error.reason)")
        }
    }

    /// Puts a new file there, which has a name of its own until it is complete.
    private func put(_ bytes: [UInt8]) throws {
        let files = SystemFiles()
        let mode = try? FileManager.default.attributesOfItem(atPath: url.path)[.posixPermissions]
        let path = url.deletingLastPathComponent().appendingPathComponent(".purl-\(UUID().uuidString)").path
        let new = try files.open(path, .creating)
        do {
            if !bytes.isEmpty { try new.write(bytes.span.bytes, at: 0) }
            if let mode {
                // What others could not read they cannot read now, either.
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            } else {
                try new.openToOthers()
            }
            if let former, FileEntry(at: url).regularFile?.identity == former {
                try files.move(path, to: url.path)
            } else {
                // A file that has come there meanwhile stays.
                try files.move(path, toFree: url.path)
            }
        } catch {
            files.remove(path)
            throw error
        }
    }
}

extension OptionRow {
    /// `--trace`.
    static func trace(_ path: WritableKeyPath<Values, TraceFile?>, _ help: String) -> Self {
        .value("--trace", "FILE", path, TraceFile.init, help)
    }
}
