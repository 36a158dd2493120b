import Foundation
import Purl

extension Load {
    /// Awaiting a load of each kind.
    static let asynchronous: [Act] = [
        awaiting("data, async") { session, request, _, _ in try await session.data(for: request) },
        awaiting("data, async with a delegate") { session, request, _, delegate in
            try await session.data(for: request, delegate: delegate)
        },
        awaiting("bytes, async") { session, request, _, _ in
            let (bytes, response) = try await session.bytes(for: request)
            var body = Data()
            for try await byte in bytes { body.append(byte) }
            return (body, response)
        },
        awaiting("bytes, given up") { session, request, _, _ in
            let (bytes, response) = try await session.bytes(for: request)
            for try await _ in bytes.prefix(2000) {}
            return (Data(), response)
        },
        awaiting("upload, async") { session, request, _, _ in
            var upload = request
            upload.httpMethod = "POST"
            return try await session.upload(for: upload, from: MisbehavingServer.content.bytes(0..<20_000))
        },
        awaiting("download, async") { session, request, _, _ in
            try contents(of: await session.download(for: request))
        },
        awaiting("resumed, async") { session, _, resumeData, _ in
            try contents(of: await session.download(resumeFrom: resumeData))
        },
    ]

    private typealias Wait =
        @Sendable (URLSession, URLRequest, Data, any URLSessionTaskDelegate) async throws -> (Data, URLResponse)

    private static func awaiting(_ name: String, _ load: @escaping Wait) -> Act {
        Act("begin \(name)", weight: 2) { arena, dice in
            guard arena.hasRoom else { return }
            let session = arena.session(&dice)
            let request = request(arena, &dice)
            let resumeData = arena.resumeData(&dice)
            let nuisance = Nuisance(arena, dice.offspring())
            let ticket = arena.ledger.begin(name)
            let work = Task {
                do {
                    let (body, response) = try await load(session, request, resumeData, nuisance)
                    arena.finish(ticket, body, response, nil)
                } catch {
                    arena.finish(ticket, nil, nil, error)
                }
            }
            arena.share(work, &dice)
        }
    }

    private static func contents(of file: (URL, URLResponse)) throws -> (Data, URLResponse) {
        defer { try? FileManager.default.removeItem(at: file.0) }
        return (try Data(contentsOf: file.0), file.1)
    }
}
