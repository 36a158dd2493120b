import Foundation
import PurlTesting

/// The access log of `purl serve`: JSON, one object in each line.
struct AccessLog {
    private let output: Console
    private let path: String?

    /// - Parameters:
    ///   - output: Where the lines are written.
    ///   - path: The path of the file that this is; `nil` for standard output.
    init(_ output: Console, path: String? = nil) {
        self.output = output
        self.path = path
    }

    /// Throws when a line could not be written to the file. That is not a reason to stop serving.
    func validate() throws(CommandFailure) {
        guard let path, let failure = output.failure else { return }
        throw CommandFailure("“\(path)” lacks lines that could not be written: \(failure).")
    }

    /// Writes the first line: what is served.
    ///
    /// - Parameter root: The file of the root that clients have to trust, if they do.
    func writeStart(_ urls: [URL], root: URL?) {
        struct Start: Encodable {
            let urls: [String]
            let root: String?
        }
        write(Start(urls: urls.map(\.absoluteString), root: root?.path))
    }

    /// Writes a line.
    func write(_ line: some Encodable) {
        JSONLine.bytes(of: line).map(output.write)
    }
}

/// A request as the access log has it.
struct LoggedRequest: Encodable, Equatable {
    let number: Int
    let connection: Int
    let request: String
    let fields: [String: String]
    let status: Int?
    let responseFields: [String: String]?
    let bodyBytesSent: Int
    /// `nil` for a request without content.
    let bodyBytesReceived: Int?
    let end: String

    /// - Parameter request: A request whose response has ended.
    init(_ request: ReceivedRequest) {
        number = request.number + 1
        connection = request.connection
        self.request = "\(request.method) \(request.target)"
        fields = Self.table(request.fields)
        status = request.status
        responseFields = request.responseFields.map(Self.table)
        bodyBytesSent = request.bytesSent
        bodyBytesReceived = request.bodyBytesReceived > 0 ? request.bodyBytesReceived : nil
        end =
            switch request.ending {
            case .complete, nil: "complete"
            case .cut: "cut"
            case .reset: "reset"
            case .clientLeft: "client left"
            case .serverStopped: "server stopped"
            }
    }

    private static func table(_ fields: ReceivedFields) -> [String: String] {
        Dictionary(fields.map { ($0.name, $0.value) }) { "\($0), \($1)" }
    }
}

/// What a server has done until its end.
struct ServeSummary: Equatable {
    private var requests = 0
    private var bodyBytesSent = 0
    private var ends: [String: Int] = [:]

    /// Counts a request.
    mutating func add(_ request: LoggedRequest) {
        requests += 1
        bodyBytesSent += request.bodyBytesSent
        ends[request.end, default: 0] += 1
    }

    /// One line: `3 requests, 10485760 bytes of body sent: 1 complete, 2 cut`.
    var text: String {
        let counts = ends.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        let start = "\(requests) request\(requests == 1 ? "" : "s"), \(bodyBytesSent) bytes of body sent"
        return counts.isEmpty ? start : "\(start): \(counts)"
    }
}
