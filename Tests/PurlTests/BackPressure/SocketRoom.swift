import Foundation
import PurlTesting

/// How much can be on its way between a server and a client that does not read.
enum SocketRoom {
    /// Bytes: the largest receive and send buffers the kernel gives a TCP socket, and two reads of the client.
    static let bytes: Int = {
        let limits = ["tcp_rmem", "tcp_wmem"].compactMap { name in
            (try? String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8))?
                .split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) }
        }
        return limits.reduce(0, +) + 2 * (256 << 10)
    }()

    /// A size that cannot disappear in buffers, whatever the kernel's limits are.
    static var overflowingSize: Int { bytes + (40 << 20) }
}

extension LoopbackServer {
    /// Returns when the request's answer has stopped: no byte was sent while another client loaded more than one turn
    /// of the server, twice over. Returns how much of the body was sent.
    func settledBytesSent(of number: Int, loading other: () async throws -> Void) async rethrows -> Int {
        var before = -1
        while true {
            try await other()
            try await other()
            let now = requests.first { $0.number == number }?.bytesSent ?? 0
            if now == before { return now }
            before = now
        }
    }
}
