import Foundation
import Purl

/// The client's part in the Autobahn test suite: sends every message back, in each of the server's cases. The results are
/// in the server's report.
struct AutobahnCases {
    private static let agent = "Purl"

    private let root: URL
    private let session = URLSession(configuration: .ephemeral)

    init(_ root: URL) {
        self.root = root
    }

    func run() async -> Bool {
        let counting = open("getCaseCount")
        guard case .string(let text)? = try? await counting.receive(), let count = Int(text) else {
            print("FAILED - the server does not send its number of cases")
            return false
        }
        for number in 1...max(1, count) { await echo(open("runCase?case=\(number)&agent=\(Self.agent)")) }
        let reporting = open("updateReports?agent=\(Self.agent)")
        _ = try? await reporting.receive()
        print("ok - \(count) cases were run")
        return true
    }

    private func open(_ path: String) -> URLSessionWebSocketTask {
        let url = URL(string: "\(root.absoluteString)/\(path)") ?? root
        let task = session.webSocketTask(with: url)
        task.maximumMessageSize = 64 << 20
        task.resume()
        return task
    }

    private func echo(_ task: URLSessionWebSocketTask) async {
        while let message = try? await task.receive() {
            // A failure to send ends the case; `receive` throws as well.
            try? await task.send(message)
        }
    }
}
