import Foundation
import Purl

/// A kind of task, and how one is created. Every kind of the library is in this table.
struct Load: Sendable {
    /// What a load needs.
    struct Order: Sendable {
        let arena: Arena
        let session: NumberedSession
        let request: URLRequest
        let ticket: Ledger.Ticket
        let resumeData: Data
        /// A server of streams.
        let streamPort: Int
    }

    /// Which request is sent to the server.
    enum Aim: Sendable {
        case resource
        case webSocket
        /// To leave HTTP.
        case upgrade
    }

    let name: String
    let aim: Aim
    let make: @Sendable (Order) -> URLSessionTask

    private static let kinds: [Load] = [
        Load("data") { $0.session.dataTask(with: $0.request) },
        Load("data, again") { $0.session.dataTask(with: $0.request) },
        Load("data, handler") { $0.session.dataTask(with: $0.request, completionHandler: $0.handler) },
        Load("data, file sink") {
            $0.session.dataTask(with: $0.request, writingTo: FileHandleSink(fileAt: $0.arena.newFile()))
        },
        Load("data, stream sink") {
            $0.session.dataTask(with: $0.request, writingTo: OutputStreamSink(fileAt: $0.arena.newFile()))
        },
        Load("upload") { $0.session.uploadTask(with: $0.upload, from: body) },
        Load("upload, handler") { $0.session.uploadTask(with: $0.upload, from: body, completionHandler: $0.handler) },
        Load("upload, file") { $0.session.uploadTask(with: $0.upload, fromFile: $0.arena.uploadFile) },
        Load("upload, stream") { $0.session.uploadTask(withStreamedRequest: $0.upload) },
        Load("download") { $0.session.downloadTask(with: $0.request) },
        Load("download, handler") { $0.session.downloadTask(with: $0.request, completionHandler: $0.fileHandler) },
        Load("resumed") { $0.session.downloadTask(withResumeData: $0.resumeData) },
        Load("resumed, handler") {
            $0.session.downloadTask(withResumeData: $0.resumeData, completionHandler: $0.fileHandler)
        },
        Load("WebSocket", .webSocket) { $0.session.webSocketTask(with: $0.request) },
        Load("WebSocket, again", .webSocket) { $0.session.webSocketTask(with: $0.request) },
        Load("data, upgrade", .upgrade) { $0.session.dataTask(with: $0.request) },
        Load("stream") { $0.session.streamTask(withHostName: "127.0.0.1", port: $0.streamPort) },
        Load("stream, again") { $0.session.streamTask(withHostName: "localhost", port: $0.streamPort) },
    ]

    init(_ name: String, _ aim: Aim = .resource, _ make: @escaping @Sendable (Order) -> URLSessionTask) {
        self.name = name
        self.aim = aim
        self.make = make
    }

    private static let body = MisbehavingServer.content.bytes(0..<50_000)

    /// Making a task of each kind.
    static let acts: [Act] =
        kinds.map { load in
            Act("begin \(load.name)", weight: 3) { arena, dice in load.begin(arena, &dice) }
        } + asynchronous

    private func begin(_ arena: Arena, _ dice: inout Dice) {
        guard arena.hasRoom else { return }
        let session = arena.session(&dice)
        let order = Order(
            arena: arena, session: session, request: Self.request(arena, &dice, aim),
            ticket: arena.ledger.begin(name), resumeData: arena.resumeData(&dice),
            streamPort: arena.server.streamPort(&dice))
        let task = make(order)
        arena.ledger.bind(order.ticket, to: task, session.key(task))
        if dice.once(in: 8) { task.delegate = Nuisance(arena, dice.offspring()) }
        if dice.once(in: 16) { task.earliestBeginDate = Date().addingTimeInterval(0.02) }
        arena.share(task, &dice)
        if !dice.once(in: 8) { task.resume() }
    }

    static func request(_ arena: Arena, _ dice: inout Dice, _ aim: Aim = .resource) -> URLRequest {
        let server = arena.server
        var url =
            switch aim {
            case .resource: server.url(dice.pick(MisbehavingServer.paths) ?? "/text", &dice)
            case .webSocket:
                server.url(dice.pick(MisbehavingServer.webSocketPaths) ?? "/ws", isWebSocket: true, &dice)
            case .upgrade: server.url(dice.pick(MisbehavingServer.upgradePaths) ?? "/stream", &dice)
            }
        if case .resource = aim, dice.once(in: 24), let stub = Murmur.url { url = stub }
        if dice.once(in: 64), let nowhere = URL(string: "http://127.0.0.1:1/") { url = nowhere }
        var request = URLRequest(url: url)
        if case .upgrade = aim { request.setValue("raw", forHTTPHeaderField: "Upgrade") }
        return request
    }
}

extension Load.Order {
    var upload: URLRequest {
        var upload = request
        upload.httpMethod = "POST"
        return upload
    }

    var handler: @Sendable (Data?, URLResponse?, (any Error)?) -> Void {
        { [arena, ticket] data, response, error in arena.finish(ticket, data, response, error) }
    }

    var fileHandler: @Sendable (URL?, URLResponse?, (any Error)?) -> Void {
        { [arena, ticket] file, response, error in
            arena.finish(ticket, file.flatMap { try? Data(contentsOf: $0) }, response, error)
        }
    }
}

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
