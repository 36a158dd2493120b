import Foundation

/// The result of a runner, as one line of JSON on standard output.
public struct Figures: Codable {
    /// Seconds from the first request to the end of the last.
    public var seconds: Double
    /// Requests that were answered with 2xx and came whole.
    public var requests: Int
    /// Bytes of content received, or sent.
    public var bytes: Int64
    /// Kilobytes resident before the first request; workload `waiting` only.
    public var memoryBefore: Int?

    public init(seconds: Double, requests: Int, bytes: Int64, memoryBefore: Int? = nil) {
        self.seconds = seconds
        self.requests = requests
        self.bytes = bytes
        self.memoryBefore = memoryBefore
    }

    public func print() {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let line = try? encoder.encode(self) else { return }
        Swift.print(String(decoding: line, as: UTF8.self))
    }
}

/// Kilobytes of memory that the process has now.
public func residentMemory() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
        let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") })
    else { return 0 }
    return line.split(separator: " ").compactMap { Int($0) }.first ?? 0
}

extension Duration {
    public var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
