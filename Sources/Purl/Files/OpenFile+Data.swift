import Foundation
internal import PurlHTTP
internal import PurlIO

extension OpenFile {
    /// The bytes from `offset`, at most `count`; fewer where the file ends.
    func read(_ count: Int, at offset: Int64) throws -> Data {
        var data = Data(count: count)
        let length = try data.withUnsafeMutableBytes { try read(into: $0, at: offset) }
        return data.prefix(length)
    }
}

extension Data {
    /// The SHA-256 of the bytes, hexadecimal.
    var sha256: String {
        SHA256.hexadecimal(of: bytes)
    }
}
