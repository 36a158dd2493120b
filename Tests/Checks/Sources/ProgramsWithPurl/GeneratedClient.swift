import Foundation
import PurlTesting
import Synchronization

#if PURL
    import class Purl.HTTPURLResponse
    import struct Purl.URLRequest
    import class Purl.URLSession
    import class Purl.URLSessionTask
#else
    import class FoundationNetworking.HTTPURLResponse
    import struct FoundationNetworking.URLRequest
    import class FoundationNetworking.URLSession
    import class FoundationNetworking.URLSessionTask
#endif

// What the runtime of a client generator declares, as swift-openapi-runtime does: the transport below knows nothing else.

private struct OperationRequest: Sendable {
    var method: String
    var path: String
    var fields: [(name: String, value: String)] = []
}

private struct OperationResponse: Sendable {
    var status: Int
    var fields: [String: String] = [:]
}

private protocol ClientTransport: Sendable {
    func send(
        _ request: OperationRequest, body: Data?, baseURL: URL, operationID: String
    ) async throws -> (OperationResponse, Data?)
}

private protocol ClientMiddleware: Sendable {
    typealias Next = @Sendable (OperationRequest, Data?, URL) async throws -> (OperationResponse, Data?)

    func intercept(
        _ request: OperationRequest, body: Data?, baseURL: URL, operationID: String, next: Next
    ) async throws -> (OperationResponse, Data?)
}

/// The transport: turns a generated operation into a task of a session, and its response back.
private struct URLSessionTransport: ClientTransport {
    enum Failure: Error {
        case invalidURL(path: String)
        case noResponse(operationID: String)
    }

    var session: URLSession = .shared

    func send(
        _ request: OperationRequest, body: Data?, baseURL: URL, operationID: String
    ) async throws -> (OperationResponse, Data?) {
        var urlRequest = URLRequest(url: try url(of: request, baseURL))
        urlRequest.httpMethod = request.method
        urlRequest.httpBody = body
        for (name, value) in request.fields { urlRequest.addValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await load(urlRequest)
        guard let response else { throw Failure.noResponse(operationID: operationID) }
        let fields = response.allHeaderFields.compactMap { name, value in
            (name as? String).map { ($0.lowercased(), "\(value)") }
        }
        return (
            OperationResponse(status: response.statusCode, fields: Dictionary(fields) { $0 + ", " + $1 }), data
        )
    }

    /// The path of the operation, which is percent-encoded already, below that of the server.
    private func url(of request: OperationRequest, _ baseURL: URL) throws -> URL {
        guard var base = URLComponents(url: baseURL, resolvingAgainstBaseURL: true),
            let operation = URLComponents(string: request.path)
        else { throw Failure.invalidURL(path: request.path) }
        if base.percentEncodedPath.hasSuffix("/") { base.percentEncodedPath.removeLast() }
        base.percentEncodedPath += operation.percentEncodedPath
        base.percentEncodedQuery = operation.percentEncodedQuery
        guard let url = base.url else { throw Failure.invalidURL(path: request.path) }
        return url
    }

    private func load(_ request: URLRequest) async throws -> (Data?, HTTPURLResponse?) {
        let current = Mutex<URLSessionTask?>(nil)
        return try await withTaskCancellationHandler {
            try Task.checkCancellation()
            return try await withCheckedThrowingContinuation { continuation in
                let task = session.dataTask(with: request) { data, response, error in
                    if let error { return continuation.resume(throwing: error) }
                    continuation.resume(returning: (data, response as? HTTPURLResponse))
                }
                current.withLock { $0 = task }
                task.resume()
                if Task.isCancelled { task.cancel() }
            }
        } onCancel: {
            current.withLock { $0?.cancel() }
        }
    }
}

/// A middleware: a field for every operation, and a list of what was called.
private final class CallLog: ClientMiddleware, Sendable {
    private let lines = Mutex<[String]>([])

    var calls: [String] { lines.withLock { $0 } }

    func intercept(
        _ request: OperationRequest, body: Data?, baseURL: URL, operationID: String, next: Next
    ) async throws -> (OperationResponse, Data?) {
        var request = request
        request.fields.append(("X-Operation", operationID))
        do {
            let result = try await next(request, body, baseURL)
            lines.withLock { $0.append("\(operationID) \(result.0.status)") }
            return result
        } catch {
            lines.withLock { $0.append("\(operationID) \((error as NSError).domain) \((error as NSError).code)") }
            throw error
        }
    }
}

// What the generator makes of an OpenAPI document.

private struct Pet: Codable, Equatable, Sendable {
    var id: Int?
    var name: String
}

private struct PetClient: Sendable {
    enum PetOutput: Equatable {
        case ok(Pet, tag: String?)
        case notFound
        case undocumented(Int)
    }

    let serverURL: URL
    let transport: any ClientTransport
    let middleware: any ClientMiddleware

    func listPets(limit: Int, names: [String]) async throws -> [Pet] {
        var query = "limit=\(limit)"
        for name in names { query += "&name=\(escape(name))" }
        let (response, body) = try await call("listPets", .init(method: "GET", path: "/pets?\(query)"))
        guard response.status == 200, response.fields["content-type"] == "application/json" else { return [] }
        return try JSONDecoder().decode([Pet].self, from: body ?? Data())
    }

    func getPet(_ name: String) async throws -> PetOutput {
        let (response, body) = try await call("getPet", .init(method: "GET", path: "/pets/\(escape(name))"))
        switch response.status {
        case 200: return .ok(try JSONDecoder().decode(Pet.self, from: body ?? Data()), tag: response.fields["etag"])
        case 404: return .notFound
        case let status: return .undocumented(status)
        }
    }

    func addPet(_ pet: Pet) async throws -> Int {
        let fields = [("Content-Type", "application/json"), ("Prefer", "return=minimal"), ("Prefer", "wait=5")]
        let request = OperationRequest(method: "POST", path: "/pets", fields: fields)
        return try await call("addPet", request, try JSONEncoder().encode(pet)).0.status
    }

    private func call(
        _ operationID: String, _ request: OperationRequest, _ body: Data? = nil
    ) async throws -> (OperationResponse, Data?) {
        try await middleware.intercept(request, body: body, baseURL: serverURL, operationID: operationID) {
            try await transport.send($0, body: $1, baseURL: $2, operationID: operationID)
        }
    }

    private func escape(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }
}

@Sendable func generatedClient() async throws -> String {
    let server = try LoopbackServer()
    let log = CallLog()
    let transport = URLSessionTransport(session: URLSession(configuration: .ephemeral))
    let client = PetClient(serverURL: server.url("/api/v3/"), transport: transport, middleware: log)
    let json = "application/json"

    let pets = [Pet(id: 1, name: "Mia & Max"), Pet(id: 2, name: "Žofie")]
    server.route("/api/v3/pets", method: "GET", .bytes(try JSONEncoder().encode(pets), contentType: json))
    try expect(try await client.listPets(limit: 2, names: pets.map(\.name)), pets, "the list")
    let query = "limit=2&name=Mia%20%26%20Max&name=%C5%BDofie"
    try expect(server.requests.last?.target, "/api/v3/pets?\(query)", "the target of the list")

    let one = Reply.bytes(try JSONEncoder().encode(pets[0]), contentType: json).entityTag("\"7\"")
    server.route("/api/v3/pets/Mia%20%26%20Max", one)
    try expect(try await client.getPet("Mia & Max"), .ok(pets[0], tag: "\"7\""), "a pet whose name is escaped")
    try expect(try await client.getPet("a/b"), .notFound, "a pet that is not there")
    try expect(server.requests.last?.target, "/api/v3/pets/a%2Fb", "a slash in a name")
    server.route("/api/v3/pets/teapot", .status(418))
    try expect(try await client.getPet("teapot"), .undocumented(418), "an undocumented status")

    server.route("/api/v3/pets", method: "POST", .status(201))
    try expect(try await client.addPet(pets[1]), 201, "the status of a new pet")
    let added = server.requests.last
    try expect(added.map { try JSONDecoder().decode(Pet.self, from: $0.body) }, pets[1], "the new pet")
    try expect(added?.fields["Prefer"]?.filter { $0 != " " }, "return=minimal,wait=5", "a field with two values")
    try expect(added?.fields["X-Operation"], "addPet", "the middleware's field")

    // Cancelling the caller's task cancels the session's.
    let gate = ServerGate()
    server.route("/api/v3/pets/slow", .text("late").delayed(until: gate))
    let waiting = Task { try await client.getPet("slow") }
    await gate.reached()
    waiting.cancel()
    if case .success = await waiting.result { throw Unexpected(description: "a cancelled operation has a result") }
    await server.wait { $0.requests.last?.ending == .clientLeft }
    return "operations: \(log.calls.joined(separator: ", "))"
}
