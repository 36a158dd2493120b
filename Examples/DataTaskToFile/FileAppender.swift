import Foundation

/// Appends to a file through a `FileHandle` or an `OutputStream`.
enum FileAppender {
    case handle(FileHandle)
    case stream(OutputStream)

    enum Way: String {
        case handle, stream
    }

    /// Opens the file at its end, and creates it if it does not exist.
    init(_ way: Way, _ file: URL) throws {
        switch way {
        case .handle:
            if !FileManager.default.fileExists(atPath: file.path) {
                try Data().write(to: file)
            }
            let handle = try FileHandle(forWritingTo: file)
            try handle.seekToEnd()
            self = .handle(handle)
        case .stream:
            guard let stream = OutputStream(toFileAtPath: file.path, append: true) else {
                throw CocoaError(.fileNoSuchFile)
            }
            stream.open()
            guard stream.streamStatus == .open else { throw CocoaError(.fileWriteUnknown) }
            self = .stream(stream)
        }
    }

    func append(_ data: Data) throws {
        switch self {
        case .handle(let handle):
            try handle.write(contentsOf: data)
        case .stream(let stream):
            // A stream may accept fewer bytes than it is given.
            var rest = [UInt8](data)[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBufferPointer { bytes in
                    bytes.baseAddress.map { stream.write($0, maxLength: bytes.count) } ?? 0
                }
                guard count > 0 else { throw CocoaError(.fileWriteUnknown) }
                rest = rest.dropFirst(count)
            }
        }
    }

    func close() {
        switch self {
        case .handle(let handle): try? handle.close()
        case .stream(let stream): stream.close()
        }
    }
}
