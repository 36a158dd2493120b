import Foundation
import Purl
import PurlTesting

/// A Redis server: small commands, ten thousand at once, a large value, and its own end of the connection.
struct RedisChecks {
    private let url: URL
    private let session = URLSession(configuration: .ephemeral)

    init(_ url: URL) {
        self.url = url
    }

    func run() async -> Bool {
        var isGood = true
        for (name, check) in [
            ("PING, SET and GET", commands), ("10,000 commands at once", pipeline), ("a value of 64 MiB", large),
            ("a subscription, and 100 connections that publish", publish), ("QUIT", quit),
        ] {
            let watch = ContinuousClock()
            let began = watch.now
            do {
                try await check()
                let seconds = String(format: "%.2f", (watch.now - began) / .seconds(1))
                print("ok - redis: \(name), \(seconds) s")
            } catch {
                print("FAILED - redis: \(name): \(error)")
                isGood = false
            }
        }
        session.invalidateAndCancel()
        return isGood
    }

    private func commands() async throws {
        let redis = RedisConnection(url, session)
        try await redis.send(RedisConnection.encode("PING"))
        try await redis.expect("+PONG\r\n")
        try await redis.send(RedisConnection.encode("SET", "greeting", "hello"))
        try await redis.expect("+OK\r\n")
        try await redis.send(RedisConnection.encode("GET", "greeting"))
        try await redis.expect("$5\r\nhello\r\n")
        try await redis.send(RedisConnection.encode("GET", "nothing"))
        try await redis.expect("$-1\r\n")
        redis.task.cancel()
    }

    private func pipeline() async throws {
        let redis = RedisConnection(url, session)
        try await redis.send(RedisConnection.encode("DEL", "counter"))
        for number in 1..<10_000 {
            // These are not awaited: a failure shows in the replies.
            redis.task.write(RedisConnection.encode("INCR", "counter"), timeout: 0) { error in
                if let error { print("# write \(number): \(error)") }
            }
        }
        let (first, _) = try await redis.task.readData(ofMinLength: 4, maxLength: 4, timeout: 60)
        guard first == Data(":0\r\n".utf8) || first == Data(":1\r\n".utf8) else {
            throw RedisConnection.Unexpected(reply: String(decoding: first ?? Data(), as: UTF8.self))
        }
        for number in 1..<10_000 { try await redis.expect(":\(number)\r\n") }
        redis.task.cancel()
    }

    private func large() async throws {
        let content = GeneratedContent(size: 64 << 20, seed: 5).data
        let redis = RedisConnection(url, session)
        try await redis.send(RedisConnection.encode([Data("SET".utf8), Data("large".utf8), content]))
        try await redis.expect("+OK\r\n")
        try await redis.send(RedisConnection.encode("GET", "large"))
        let value = try await redis.value(of: content.count)
        guard value == content else { throw RedisConnection.Unexpected(reply: "another value of \(value.count) bytes") }
        try await redis.send(RedisConnection.encode("DEL", "large"))
        try await redis.expect(":1\r\n")
        redis.task.cancel()
    }

    private func publish() async throws {
        let listener = RedisConnection(url, session)
        try await listener.send(RedisConnection.encode("SUBSCRIBE", "news"))
        try await listener.expect("*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n")
        let url = url
        let session = session
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 100..<200 {
                group.addTask {
                    let redis = RedisConnection(url, session)
                    try await redis.send(RedisConnection.encode("PUBLISH", "news", "\(number)"))
                    try await redis.expect(":1\r\n")
                    redis.task.cancel()
                }
            }
            try await group.waitForAll()
        }
        for _ in 0..<100 {
            try await listener.expect("*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$3\r\n")
            _ = try await listener.task.readData(ofMinLength: 5, maxLength: 5, timeout: 60)
        }
        listener.task.cancel()
    }

    /// The server ends its stream, and the client its own.
    private func quit() async throws {
        let redis = RedisConnection(url, session)
        try await redis.send(RedisConnection.encode("QUIT"))
        try await redis.expect("+OK\r\n")
        let (bytes, isLast) = try await redis.task.readData(ofMinLength: 1, maxLength: 100, timeout: 60)
        guard bytes == nil, isLast else { throw RedisConnection.Unexpected(reply: "\(String(describing: bytes))") }
        redis.task.closeWrite()
    }
}

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

    /// Reads exactly what the reply has to be, and reports when it is something else.
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
