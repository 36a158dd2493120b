import Foundation

/// A lesson: a page, the program that it builds, and scenes in which the program is played.
struct Lesson: Sendable {
    let number: Int
    /// The name of its folder, after the number, and of its page.
    let name: String
    let scenes: [Scene]
    /// What simulations find, which the page shows.
    var findings: [Finding] = []

    /// All lessons, in the order in which they are to be read.
    static let all: [Lesson] = [
        .delegates, .answers, .downloadTasks, .pauseAndResume, .appendingToAFile, .ranges, .failures,
        .backgroundSessions, .downloader, .downloadManager, .badLuck,
    ]

    /// The folder with its program.
    var folder: URL {
        Catalogue.root.appendingPathComponent("Lessons/\(twoDigits)-\(name)", isDirectory: true)
    }

    var page: URL {
        Catalogue.folder.appendingPathComponent("\(twoDigits)-\(name).md", isDirectory: false)
    }

    private var twoDigits: String { number < 10 ? "0\(number)" : "\(number)" }
}
