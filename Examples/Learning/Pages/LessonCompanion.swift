import Foundation

/// What belongs to a lesson besides its page: the exercise, and an example that goes further.
struct LessonCompanion {
    /// The examples that have a page.
    static let examples = [
        "FirstDownload", "PauseAndResume", "DataTaskToFile", "OfflineResume", "ResumableUpload", "BackgroundDownload",
        "DownloadCenter", "UnluckyOrders",
    ]

    private let lesson: Lesson

    init(_ lesson: Lesson) {
        self.lesson = lesson
    }

    /// The name of the example's folder.
    var example: String {
        switch lesson.number {
        case 1: "FirstDownload"
        case 2, 5: "DataTaskToFile"
        case 6, 7: "OfflineResume"
        case 8: "BackgroundDownload"
        case 9, 10: "DownloadCenter"
        case 11: "UnluckyOrders"
        default: "PauseAndResume"
        }
    }

    /// The exercise's file and its tests.
    func sources() throws -> String {
        try Self.listings(
            ["Exercises/Exercise\(lesson.number).swift", "Tests/Exercises/Exercise\(lesson.number)Tests.swift"])
    }

    /// Files of the lessons' folder.
    static func listings(_ paths: [String]) throws -> String {
        try paths.map { try listing(Catalogue.root.appendingPathComponent($0)) }.joined(separator: "\n")
    }

    /// The programs of an example.
    static func sources(of example: String) throws -> String {
        let folder = Catalogue.root.appendingPathComponent("../\(example)", isDirectory: true).standardizedFileURL
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" }.sorted { $0.path < $1.path }.map(listing).joined(separator: "\n")
    }

    private static func listing(_ file: URL) throws -> String {
        let text = try String(contentsOf: file, encoding: .utf8)
        let name = file.lastPathComponent
        return """
            <h3 id="\(name)">\(name)</h3>
            <pre tabindex="0" aria-label="\(name)"><code>\(Markdown.escaped(text))</code></pre>
            """
    }
}
