import Foundation

/// The page of an example, with the output of the example.
struct Page {
    /// The lines of the block under "What it prints".
    let output: [String]

    private struct NoOutput: Error {}

    init(_ example: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Examples/\(example)/README.md").standardizedFileURL
        let lines = try String(contentsOf: root, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false
        ).map(String.init)
        guard let heading = lines.firstIndex(of: "## What it prints"),
            let start = lines[heading...].firstIndex(of: "```text"),
            let end = lines[start...].firstIndex(of: "```")
        else { throw NoOutput() }
        output = Array(lines[(start + 1)..<end])
    }
}
