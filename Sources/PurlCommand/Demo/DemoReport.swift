import Foundation
import PurlTesting

/// Formats the requests that the server recorded.
enum WireReport {
    /// Two lines for each request.
    ///
    /// - Parameter statuses: The statuses of the responses, in order.
    static func lines(_ requests: [ReceivedRequest], statuses: [Int?]) -> [String] {
        zip(requests, statuses).enumerated().flatMap { position, pair in
            let (request, status) = pair
            return [
                "  \(position + 1). \(requestLine(request))",
                "     \(status.map { "\($0), " } ?? "")\(responseLine(request))",
            ]
        }
    }

    private static func requestLine(_ request: ReceivedRequest) -> String {
        let fields = ["Range", "If-Range"].compactMap { name in request.fields[name].map { "\(name): \($0)" } }
        return (["\(request.method) \(request.target)"] + fields).joined(separator: "  ")
    }

    private static func responseLine(_ request: ReceivedRequest) -> String {
        let sent = "\(request.bytesSent) bytes sent"
        switch request.ending {
        case .complete: return "\(sent), complete"
        case .cut, .reset: return "\(sent), then the server closed the connection"
        case .clientLeft: return "\(sent), until the client closed the connection"
        case .serverStopped, nil: return "\(sent), unfinished"
        }
    }
}

/// Formats resume data, a property list, with each key and its value in one line.
enum ResumeDataText {
    /// - Parameter width: Longer lines are cut.
    static func lines(_ resumeData: Data, width: Int) -> [String] {
        let text = String(decoding: resumeData, as: UTF8.self)
        var lines: [String] = []
        for line in text.split(separator: "\n") {
            let line = String(line).replacing("\t", with: "  ")
            if let last = lines.last, last.hasSuffix("</key>") {
                lines[lines.count - 1] = last + " " + line.trimmingCharacters(in: .whitespaces)
            } else {
                lines.append(line)
            }
        }
        return lines.map { $0.count <= width ? $0 : String($0.prefix(max(0, width - 1))) + "…" }
    }
}
