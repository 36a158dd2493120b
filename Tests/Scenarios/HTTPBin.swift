import Foundation

/// The httpbin under way, with a session that has only this to do.
struct HTTPBin: Sendable {
    /// An answer, as it arrived.
    struct Answer {
        let body: Data
        let response: HTTPURLResponse

        var status: Int { response.statusCode }
        var text: String { String(decoding: body, as: UTF8.self) }
        /// The path and query of the URL that answered.
        var place: String { (response.url?.path ?? "") + (response.url?.query.map { "?\($0)" } ?? "") }

        func field(_ name: String) -> String? { response.value(forHTTPHeaderField: name) }

        /// What httpbin says about the request, at this path of keys.
        func told(_ keys: String...) -> String? {
            var value = try? JSONSerialization.jsonObject(with: body)
            for key in keys { value = (value as? [String: Any])?[key] }
            if let text = value as? String { return text }
            return value.map { "\($0)" }
        }
    }

    let url: URL
    let session: URLSession

    init(url: URL, _ change: (URLSessionConfiguration) -> Void = { _ in }, delegate: Recorder? = nil) {
        self.url = url
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 30
        change(configuration)
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    /// The same place with other settings.
    func changed(_ change: (URLSessionConfiguration) -> Void) -> HTTPBin {
        HTTPBin(url: url, change)
    }

    func request(_ path: String, _ method: String = "GET", user: String? = nil) throws -> URLRequest {
        guard var parts = URLComponents(string: url.absoluteString + path) else { throw URLError(.badURL) }
        parts.user = user
        parts.password = user.map { _ in "secret" }
        guard let place = parts.url else { throw URLError(.badURL) }
        var request = URLRequest(url: place)
        request.httpMethod = method
        return request
    }

    func get(_ path: String, user: String? = nil, fields: [String: String] = [:]) async throws -> Answer {
        var request = try request(path, user: user)
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        return try await load(request)
    }

    func load(_ request: URLRequest) async throws -> Answer {
        let (body, response) = try await session.data(for: request)
        return try answer(body, response)
    }

    func answer(_ body: Data, _ response: URLResponse) throws -> Answer {
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return Answer(body: body, response: response)
    }
}
