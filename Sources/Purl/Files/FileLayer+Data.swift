import Foundation
internal import PurlHTTP
internal import PurlIO

extension FileLayer {
    /// Puts a new file with these bytes in the place of the one at `path`: a crash leaves one or the other. The name is
    /// safe once the folder has been synchronised.
    ///
    /// - Returns: The new file, open.
    func replace(_ path: String, with bytes: Data) throws(SystemError) -> any OpenFile {
        let fresh = path + ".new"
        remove(fresh)
        let file = try open(fresh, .creating)
        try file.write(bytes, at: 0)
        try file.synchronize()
        try move(fresh, to: path)
        return file
    }
}

extension OpenFile {
    /// The bytes from `offset`, at most `count`; fewer where the file ends.
    func read(_ count: Int, at offset: Int64) throws -> Data {
        var data = Data(count: count)
        let length = try data.withUnsafeMutableBytes { try read(into: $0, at: offset) }
        return data.prefix(length)
    }

    /// Writes all of `data` at `offset`.
    func write(_ data: Data, at offset: Int64) throws(SystemError) {
        try data.bytes.withUnsafeBytes { bytes throws(SystemError) in try write(bytes, at: offset) }
    }
}

extension Data {
    /// The SHA-256 of the bytes, hexadecimal.
    var sha256: String {
        SHA256.hexadecimal(of: bytes)
    }
}
