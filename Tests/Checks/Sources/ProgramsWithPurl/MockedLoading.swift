import Foundation
import PurlTesting
import Synchronization

#if PURL
    import Purl
#else
    import FoundationNetworking
#endif

/// Answers requests in place of the network, as tests of clients do.
private final class MockProtocol: URLProtocol {
    typealias Handler = @Sendable (URLRequest) throws -> (HTTPURLResponse, Data)

    static let handler = Mutex<Handler?>(nil)

    /// A session that loads nothing but what the handler returns.
    static func session() -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [MockProtocol.self]
        configuration.httpAdditionalHeaders = ["X-Client": "weather/3"]
        return URLSession(configuration: configuration)
    }

    override class func canInit(with request: URLRequest) -> Bool {
        request.url?.scheme == "https"
    }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        do {
            guard let handler = Self.handler.withLock({ $0 }) else { throw URLError(.resourceUnavailable) }
            let (response, data) = try handler(request)
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: data)
            client?.urlProtocolDidFinishLoading(self)
        } catch {
            client?.urlProtocol(self, didFailWithError: error)
        }
    }

    override func stopLoading() {}
}

extension URLRequest {
    /// The body that a protocol receives: data, or a stream where the session made one of it.
    fileprivate var body: Data {
        if let httpBody { return httpBody }
        guard let stream = httpBodyStream else { return Data() }
        stream.open()
        defer { stream.close() }
        var data = Data()
        var buffer = [UInt8](repeating: 0, count: 1024)
        while case let count = stream.read(&buffer, maxLength: buffer.count), count > 0 {
            data.append(contentsOf: buffer[..<count])
        }
        return data
    }
}

/// What is tested with the mock.
private struct WeatherService {
    struct Report: Codable, Equatable {
        var town: String
        var degrees: Double
    }

    enum Failure: Error, Equatable {
        case unknownTown(String)
        case offline
    }

    let session: URLSession
    let base: URL

    func report(for town: String) async throws -> Report {
        var components = URLComponents(url: base.appendingPathComponent("reports"), resolvingAgainstBaseURL: false)
        components?.queryItems = [URLQueryItem(name: "town", value: town)]
        guard let url = components?.url else { throw URLError(.badURL) }
        do {
            let (data, response) = try await session.data(from: url)
            guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw Failure.unknownTown(town) }
            return try JSONDecoder().decode(Report.self, from: data)
        } catch let error as URLError where error.code == .notConnectedToInternet {
            throw Failure.offline
        }
    }

    /// Sends a report, with a completion handler as older code does.
    func send(_ report: Report, completion: @escaping @Sendable (Result<Int, any Error>) -> Void) throws {
        var request = URLRequest(url: base.appendingPathComponent("reports"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONEncoder().encode(report)
        let task = session.dataTask(with: request) { _, response, error in
            completion(
                error.map { .failure($0) } ?? .success((response as? HTTPURLResponse)?.statusCode ?? 0))
        }
        task.resume()
    }
}

@Sendable func mockedLoading() async throws -> String {
    guard let base = URL(string: "https://api.weather.example/v2") else { throw URLError(.badURL) }
    let session = MockProtocol.session()
    let service = WeatherService(session: session, base: base)
    let seen = Mutex<[String]>([])
    let oslo = WeatherService.Report(town: "Oslo", degrees: -4.5)

    MockProtocol.handler.withLock { handler in
        handler = { request in
            guard let url = request.url else { throw URLError(.badURL) }
            seen.withLock { $0.append("\(request.httpMethod ?? "none") \(url.path)?\(url.query ?? "")") }
            let towns = ["town=Oslo": 200, "town=Atlantis": 404]
            let status = request.httpMethod == "POST" ? 201 : towns[url.query ?? ""]
            guard
                let status,
                let response = HTTPURLResponse(
                    url: url, statusCode: status, httpVersion: "HTTP/1.1",
                    headerFields: ["Content-Type": "application/json"])
            else { throw URLError(.notConnectedToInternet) }
            if request.httpMethod == "POST" {
                try expect(
                    try JSONDecoder().decode(WeatherService.Report.self, from: request.body), oslo, "the report sent")
            }
            return (response, status == 200 ? try JSONEncoder().encode(oslo) : Data())
        }
    }

    try expect(try await service.report(for: "Oslo"), oslo, "the report")
    for (town, failure) in [("Atlantis", WeatherService.Failure.unknownTown("Atlantis")), ("Nowhere", .offline)] {
        do {
            _ = try await service.report(for: town)
            throw Unexpected(description: "there is a report for \(town)")
        } catch let error as WeatherService.Failure {
            try expect(error, failure, "the failure for \(town)")
        }
    }
    let status = try await withCheckedThrowingContinuation { continuation in
        do {
            try service.send(oslo) { continuation.resume(with: $0) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
    try expect(status, 201, "the status of what was sent")

    // What the mock does not take is loaded from its server.
    let server = try LoopbackServer()
    let (data, _) = try await session.data(from: server.route("/live", .text("live")))
    try expect(String(decoding: data, as: UTF8.self), "live", "the body from a server")
    try expect(server.requests.first?.fields["X-Client"], "weather/3", "the session's field")
    return "the mock answered \(seen.withLock { $0 }.joined(separator: ", ")); the server \(server.requests.count)"
}
