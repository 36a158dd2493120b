import Foundation
import Purl
import PurlTesting

/// An event of a server-sent stream whose data is one line.
private struct ServerEvent: Equatable, Sendable {
    var id: String?
    var name = "message"
    var data: String
}

/// Reads server-sent events, and connects again after the last one when the connection is lost.
private struct EventSource: Sendable {
    let session: URLSession
    let url: URL
    var maximumAttempts = 3

    /// The events, until the server says `204 No Content` or the caller ends the loop.
    var events: AsyncThrowingStream<ServerEvent, any Error> {
        AsyncThrowingStream { continuation in
            let reading = Task {
                do {
                    try await read { continuation.yield($0) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in reading.cancel() }
        }
    }

    private func read(_ handle: (ServerEvent) -> Void) async throws {
        var lastID: String?
        var failures = 0
        while true {
            do {
                guard
                    try await readConnection(
                        after: lastID,
                        { event in
                            failures = 0
                            lastID = event.id ?? lastID
                            handle(event)
                        })
                else { return }
            } catch let error as URLError where error.code == .networkConnectionLost {
                failures += 1
                if failures == maximumAttempts { throw error }
            }
        }
    }

    /// Reads one response. False when there is nothing more.
    private func readConnection(after id: String?, _ handle: (ServerEvent) -> Void) async throws -> Bool {
        var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
        request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
        if let id { request.setValue(id, forHTTPHeaderField: "Last-Event-ID") }
        let (bytes, response) = try await session.bytes(for: request)
        guard let response = response as? HTTPURLResponse, response.statusCode != 204 else { return false }
        guard response.statusCode == 200, response.mimeType == "text/event-stream" else {
            throw URLError(.badServerResponse)
        }
        // `lines` leaves out empty lines. This server's events end with their one line of data.
        var event = ServerEvent(data: "")
        for try await line in bytes.lines {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count == 2 ? String(parts[1].hasPrefix(" ") ? parts[1].dropFirst() : parts[1]) : ""
            switch parts[0] {
            case "id": event.id = value
            case "event": event.name = value
            case "data":
                event.data = value
                handle(event)
                event = ServerEvent(data: "")
            default: break
            }
        }
        return true
    }
}

@Sendable func eventStreamReader() async throws -> String {
    let server = try LoopbackServer()
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let mediaType = "text/event-stream; charset=utf-8"

    // The first connection is lost in the middle of an event; the next one begins after the last whole one.
    let begin = ": welcome\r\n\r\nid: 1\r\ndata: one\r\n\r\nevent: price\nid: 2\ndata: 12 €\n\nid: 3\nda"
    let rest = "id: 3\ndata:three: 3\n\n"
    let streamed = server.route(
        "/events",
        .sequence([
            .bytes(Data((begin + "ta: lost\n\n").utf8), contentType: mediaType).chunked().inPieces(of: 3)
                .cut(afterBytes: begin.utf8.count),
            .bytes(Data(rest.utf8), contentType: mediaType).chunked(),
            .status(204),
        ]))
    var events: [ServerEvent] = []
    for try await event in EventSource(session: session, url: streamed).events { events.append(event) }
    try expect(
        events,
        [
            ServerEvent(id: "1", data: "one"), ServerEvent(id: "2", name: "price", data: "12 €"),
            ServerEvent(id: "3", data: "three: 3"),
        ], "the events")
    try expect(server.requests.map { $0.fields["Last-Event-ID"] }, [nil, "2", "3"], "where each connection begins")

    // Events arrive while the response lasts, and leaving the loop ends it.
    let gate = ServerGate()
    let first = "data: first\n\n"
    let endless = server.route(
        "/endless",
        .bytes(Data((first + "data: never\n\n").utf8), contentType: mediaType)
            .stalled(afterBytes: first.utf8.count, until: gate))
    for try await event in EventSource(session: session, url: endless).events {
        try expect(event.data, "first", "the event that arrives before the response's end")
        break
    }
    await server.wait { $0.requests.last?.ending == .clientLeft }
    try expect(server.requests.last?.ending, .clientLeft, "how the endless response ended")

    // A server that never gets as far as an event is asked three times.
    let broken = server.route("/broken", .bytes(Data("data: ".utf8), contentType: mediaType).cut(afterBytes: 3))
    do {
        for try await event in EventSource(session: session, url: broken).events {
            throw Unexpected(description: "an event of half a line: \(event)")
        }
        throw Unexpected(description: "the broken stream has ended without an error")
    } catch let error as URLError {
        try expect(error.code, .networkConnectionLost, "the broken stream's error")
        try expect(server.requests.count { $0.path == "/broken" }, 3, "requests for the broken stream")
    }
    return "events: \(events.map { "\($0.id ?? "?") \($0.name) \($0.data)" }.joined(separator: "; "))"
}
