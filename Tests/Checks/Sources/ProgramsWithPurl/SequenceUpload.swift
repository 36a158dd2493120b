import Foundation
import Purl
import PurlTesting
import Synchronization

/// The parts of a file, one after another, each hidden by a key: what an upload of an encrypted backup sends.
private struct HiddenParts: AsyncSequence, Sendable {
    let file: URL
    let key: UInt8
    var partSize = 100_000

    struct Iterator: AsyncIteratorProtocol {
        let handle: FileHandle
        let key: UInt8
        let partSize: Int

        func next() async throws -> Data? {
            guard let part = try handle.read(upToCount: partSize), !part.isEmpty else {
                try handle.close()
                return nil
            }
            return Data(part.map { $0 ^ key })
        }
    }

    func makeAsyncIterator() -> Iterator {
        do {
            return Iterator(handle: try FileHandle(forReadingFrom: file), key: key, partSize: partSize)
        } catch {
            return Iterator(handle: .nullDevice, key: key, partSize: partSize)
        }
    }
}

/// Counts what a task has sent, and answers no other question.
private final class UploadProgress: NSObject, URLSessionTaskDelegate, Sendable {
    private let counts = Mutex<[Int64]>([])

    var sent: [Int64] { counts.withLock { $0 } }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        counts.withLock { $0.append(totalBytesSent) }
    }
}

private struct SensorLost: Error {}

private func request(_ url: URL, _ method: String, _ mediaType: String) -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.setValue(mediaType, forHTTPHeaderField: "Content-Type")
    return request
}

/// Measurements as they are made, one line each, sent while more are made.
private func sendMeasurements(_ session: URLSession, _ server: LoopbackServer) async throws -> String {
    let url = server.route(
        "/measurements",
        .computed { request in .text("\(request.body.split(separator: UInt8(ascii: "\n")).count) lines") })
    let (lines, feed) = AsyncStream.makeStream(of: Data.self)
    async let result = session.upload(for: request(url, "POST", "application/x-ndjson"), from: lines)
    feed.yield(Data("{\"degrees\":20}\n".utf8))
    // The first one is there before the second one is made.
    await server.wait { $0.requests.last?.bodyBytesReceived == 15 }
    for degrees in 21..<30 { feed.yield(Data("{\"degrees\":\(degrees)}\n".utf8)) }
    feed.finish()
    let (answer, response) = try await result
    try expect((response as? HTTPURLResponse)?.statusCode, 200, "the status for the measurements")
    try expect(server.requests.last?.fields["Transfer-Encoding"], "chunked", "the coding of an unknown length")
    return String(decoding: answer, as: UTF8.self)
}

/// A file that is changed on its way, with the length that is known.
private func sendBackup(_ session: URLSession, _ server: LoopbackServer) async throws -> Int {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("backup-\(UUID().uuidString)")
    let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try content.write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }

    var put = request(server.route("/backup", method: "PUT", .status(201)), "PUT", "application/octet-stream")
    put.setValue("\(content.count)", forHTTPHeaderField: "Content-Length")
    let progress = UploadProgress()
    let (_, response) = try await session.upload(for: put, from: HiddenParts(file: file, key: 0x5A), delegate: progress)
    try expect((response as? HTTPURLResponse)?.statusCode, 201, "the status for the backup")
    let received = server.requests.last
    try expect(received?.fields["Content-Length"], "3000000", "the backup's length")
    try expect(received.map { Data($0.body.map { $0 ^ 0x5A }) } == content, true, "the backup arrived as it is")
    try expect(progress.sent, progress.sent.sorted(), "the progress, in order")
    try expect(progress.sent.last, 3_000_000, "the progress at the end")
    return received?.body.count ?? 0
}

/// A source that fails: the request fails with its error, and the server does not take the part for the whole.
private func sendBroken(_ session: URLSession, _ server: LoopbackServer) async throws {
    let url = server.route("/broken", .status(201))
    let failing = AsyncThrowingStream<Data, any Error> { continuation in
        continuation.yield(Data("half of it".utf8))
        continuation.finish(throwing: SensorLost())
    }
    do {
        _ = try await session.upload(for: request(url, "POST", "text/plain"), from: failing)
        throw Unexpected(description: "half of a body was taken for the whole")
    } catch let error as URLError {
        try expect(error.code, .requestBodyStreamExhausted, "the error of a source that fails")
        try expect(error.userInfo[NSUnderlyingErrorKey] is SensorLost, true, "the source's own error is underneath")
    }
    await server.waitUntilDisconnected()
    try expect(server.requests.last?.isComplete, false, "the broken request is complete")
}

@Sendable func sequenceUpload() async throws -> String {
    let server = try LoopbackServer()
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let measurements = try await sendMeasurements(session, server)
    try expect(measurements, "10 lines", "the measurements that arrived")
    let backup = try await sendBackup(session, server)
    try await sendBroken(session, server)
    return "measurements: \(measurements); backup: \(backup) bytes; a source that fails: half of it is refused"
}
