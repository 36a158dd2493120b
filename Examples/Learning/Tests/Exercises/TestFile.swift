import Foundation

/// A file that is removed after the test.
final class TestFile: Sendable {
    let url: URL

    /// - Parameter text: What is in it; without a text there is no file yet.
    init(_ text: String? = nil) throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("purl-exercise-\(UUID().uuidString)")
        try text?.write(to: url, atomically: true, encoding: .utf8)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    var text: String { (try? String(contentsOf: url, encoding: .utf8)) ?? "" }
}
