import Foundation
import PurlTesting

/// The server that downloads come from. It outlives the programs that download, and takes its orders as lines on
/// standard input, and replies to each with one line on standard output:
///
///     file SIZE     makes a file of generated content; its path, and another without a rate limit that is not counted
///     totals        body bytes sent, responses that ended because the client left, pending responses
///     ranges PATH   the `Range` of each request for the path so far, or `-`, with the body bytes sent: `-=500 bytes=500-=20`
struct FileServer {
    private let server: LoopbackServer
    private let bytesPerSecond: Int

    /// - Parameter bytesPerSecond: For each connection.
    init(bytesPerSecond: Int) throws {
        server = try LoopbackServer()
        self.bytesPerSecond = bytesPerSecond
    }

    /// Returns when standard input ends.
    func run() {
        var files = 0
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            switch (words.first, words.count) {
            case ("file", 2):
                files += 1
                Lines.print(addFile(files, size: Int(words[1]) ?? 0))
            case ("totals", 1):
                Lines.print(totals)
            case ("ranges", 2):
                Lines.print(ranges(words[1]))
            default:
                Lines.print("?")
            }
        }
    }

    private func addFile(_ number: Int, size: Int) -> String {
        let reply = Reply.generated(size: size, seed: UInt64(number)).entityTag("\"\(number)\"")
        let counted = server.route("\(Self.counted)\(number).bin", reply.throttled(bytesPerSecond: bytesPerSecond))
        let whole = server.route("/whole/\(number).bin", reply)
        return "\(counted.absoluteString) \(whole.absoluteString)"
    }

    private static let counted = "/files/"

    private var totals: String {
        let requests = server.requests.filter { $0.path.hasPrefix(Self.counted) }
        let bytes = requests.reduce(0) { $0 + $1.bytesSent }
        let left = requests.count { $0.ending == .clientLeft }
        let open = requests.count { $0.ending == nil }
        return "\(bytes) \(left) \(open)"
    }

    private func ranges(_ path: String) -> String {
        server.requests.filter { $0.path == path }
            .map { "\($0.fields["Range"] ?? "-")=\($0.bytesSent)" }
            .joined(separator: " ")
    }
}
