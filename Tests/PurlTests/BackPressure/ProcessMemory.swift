import Foundation

/// What the kernel says of this process.
enum ProcessMemory {
    /// The most memory the process has had so far, in bytes.
    static var peak: Int { field("VmHWM") }
    /// The memory the process has now, in bytes.
    static var now: Int { field("VmRSS") }

    private static func field(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }
}
