import Foundation
import Purl

/// A stream to a Redis server, and what its protocol (RESP2) needs of it.
struct RedisConnection {
    struct Unexpected: Error {
        let reply: String
    }

    let task: URLSessionStreamTask

    init(_ url: URL, _ session: URLSession) {
        task = session.streamTask(withHostName: url.host ?? "", port: url.port ?? 6379)
        task.resume()
    }

    /// A command as it goes over the wire: an array of strings.
    static func encode(_ words: [Data]) -> Data {
        var bytes = Data("*\(words.count)\r\n".utf8)
        for word in words {
            bytes += Data("$\(word.count)\r\n".utf8)
            bytes += word
            bytes += Data("\r\n".utf8)
        }
        return bytes
    }

    static func encode(_ words: String...) -> Data { encode(words.map { Data($0.utf8) }) }

    func send(_ command: Data) async throws {
        try await task.write(command, timeout: 60)
    }

    /// Reads exactly what the reply has to be, and says so when it is something else.
    func expect(_ reply: String) async throws {
        let (bytes, _) = try await task.readData(
            ofMinLength: reply.utf8.count, maxLength: reply.utf8.count, timeout: 60)
        guard let bytes, bytes == Data(reply.utf8) else {
            throw Unexpected(reply: String(decoding: bytes ?? Data(), as: UTF8.self))
        }
    }

    /// Reads a bulk string.
    func value(of count: Int) async throws -> Data {
        try await expect("$\(count)\r\n")
        let (bytes, _) = try await task.readData(ofMinLength: count, maxLength: count, timeout: 60)
        try await expect("\r\n")
        return bytes ?? Data()
    }
}
