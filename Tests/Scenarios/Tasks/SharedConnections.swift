import Foundation
import Purl
import PurlSimulation
import PurlTesting

extension Scenario {
    /// Many requests at once on few connections, whose responses end in every way: each task has its own body, and what must
    /// not be repeated is not.
    static let sharedConnections = Scenario("shared-connections") { world in
        let dice = Dice(world.seed, "shared-connections")
        let server = world.server("mirror.example")
        let orders = Notes<[String: Int]>([:])
        let contents = (0..<6).map { GeneratedContent(size: dice.number(0...9_000), seed: UInt64($0)) }
        // Whether a page ends early; whether the server closes a connection with no word, so that the next request may be lost.
        var (endsEarly, closesSilently) = (Set<Int>(), false)
        for (number, content) in contents.enumerated() {
            let reply = Reply.generated(content)
            let manner = dice.index(below: 7)
            if manner == 3 { closesSilently = true }
            if manner == 6, content.size > 0 { endsEarly.insert(number) }
            let replies = [
                reply, reply.chunked(size: 700), reply.closingConnection(), reply.closingConnection(announced: false),
                reply.untilClose(), reply.inPieces(of: 500), reply.cut(afterBytes: content.size / 2),
            ]
            server.route("/\(number)", replies[manner])
        }
        let (early, silent) = (endsEarly, closesSilently)
        // The server says that it closes the connection, and takes its time: another request on it would be lost.
        server.route(
            "/last",
            .raw("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nlast", then: .keepOpen))
        server.route(
            "/order", method: "POST",
            .computed { request in
                let order = String(decoding: request.body, as: UTF8.self)
                orders.change { $0[order, default: 0] += 1 }
                return .text("took \(order)")
            })
        if !dice.oneIn(4) { world.chaos = .network }
        let configuration = URLSessionConfiguration.default
        configuration.httpMaximumConnectionsPerHost = 2
        let session = URLSession(configuration: configuration)
        let tasks = (0..<dice.number(4...16)).map { number -> (Task<Void, any Error>, mayFail: Bool) in
            let (kind, moment, cancels) = (dice.index(below: 8), dice.moment(), dice.oneIn(6))
            let task = Task {
                if kind > 5 {
                    var request = URLRequest(url: server.url("/order"))
                    request.httpMethod = "POST"
                    request.httpBody = Data("order \(number)".utf8)
                    let (data, _) = try await session.data(for: request)
                    try require(data == Data("took order \(number)".utf8), "order \(number) got another's answer")
                    try require(orders.value["order \(number)"] == 1, "order \(number) was taken for another")
                } else {
                    let (data, _) = try await session.data(from: server.url("/\(kind)"))
                    try require(!early.contains(kind), "/\(kind) ends early, and task \(number) has not failed")
                    try require(contents[kind].data == data, "task \(number) got another body than /\(kind) has")
                }
            }
            if cancels {
                Task {
                    try await world.sleep(for: moment)
                    task.cancel()
                }
            }
            return (task, cancels || (kind > 5 ? silent : early.contains(kind)))
        }
        for (task, mayFail) in tasks {
            do { try await task.value } catch let error as Unmet { throw error } catch {
                try require(error is URLError || error is CancellationError, "\(error)")
                try require(mayFail || !world.chaos.isEmpty, "without a fault: \(error)")
            }
        }
        for _ in 0..<3 { _ = try? await session.data(from: server.url("/last")) }
        let closing = server.requests.filter { $0.path == "/last" }.map(\.connection)
        for connection in closing {
            let requests = server.requests.filter { $0.connection == connection }
            try require(
                requests.last?.path == "/last", "a request is sent on connection \(connection), which is to be closed")
            try require(requests.count { $0.path == "/last" } == 1, "two requests on connection \(connection)")
        }
        for (order, count) in orders.value.sorted(by: { $0.key < $1.key }) {
            try require(count == 1, "\(order) was taken \(count) times")
        }
        session.invalidateAndCancel()
    }

    /// A program that reads a body more slowly than it arrives.
    static let slowReader = Scenario("slow-reader") { world in
        let dice = Dice(world.seed, "slow-reader")
        let server = world.server("mirror.example")
        let content = GeneratedContent(size: dice.number(1...200_000), seed: 4)
        let url = server.route("/film", dice.oneIn(2) ? .generated(content) : .generated(content).chunked(size: 5_000))
        if dice.oneIn(2) { world.chaos = .network }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.limits.bufferedBytesPerTask = dice.pick([4_096, 16_384, 1 << 20])
        configuration.timeoutIntervalForRequest = 600
        let session = URLSession(configuration: configuration)
        let stride = dice.number(1_000...60_000)
        for _ in 0..<40 {
            do {
                var data = Data()
                for try await byte in try await session.bytes(from: url).0 {
                    data.append(byte)
                    if data.count % stride == 0 { try await world.sleep(for: dice.moment()) }
                }
                try require(content.data == data, "the bytes are not the server's")
                session.finishTasksAndInvalidate()
                return
            } catch let error as URLError {
                try require(!world.chaos.isEmpty, "without a fault: \(error)")
                try await world.sleep(for: .seconds(1))
            }
        }
        throw Unmet("forty attempts, and no body")
    }
}
