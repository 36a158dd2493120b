import PurlTesting

/// What went over the wire, as the server recorded it.
enum WireReport {
    /// Two lines for each request.
    ///
    /// - Parameter statuses: What the requests were answered with, in order.
    static func lines(_ requests: [ReceivedRequest], statuses: [Int?]) -> [String] {
        zip(requests, statuses).enumerated().flatMap { position, pair in
            let (request, status) = pair
            return [
                "  \(position + 1). \(question(request))",
                "     \(status.map { "\($0), " } ?? "")\(answer(request))",
            ]
        }
    }

    private static func question(_ request: ReceivedRequest) -> String {
        let fields = ["Range", "If-Range"].compactMap { name in request.fields[name].map { "\(name): \($0)" } }
        return (["\(request.method) \(request.target)"] + fields).joined(separator: "  ")
    }

    private static func answer(_ request: ReceivedRequest) -> String {
        let sent = "\(request.bytesSent) bytes sent"
        switch request.ending {
        case .complete: return "\(sent), to the end"
        case .cut, .reset: return "\(sent), then the server hung up"
        case .clientLeft: return "\(sent), until the client left"
        case .serverStopped, nil: return "\(sent), unfinished"
        }
    }
}
