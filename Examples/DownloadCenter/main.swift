import ExampleStage
import Foundation
import PurlDownloads

// swift run DownloadCenter [FOLDER URL…]
let arguments = Array(CommandLine.arguments.dropFirst())

if arguments.isEmpty { play(story) }
let folder = URL(fileURLWithPath: arguments[0], isDirectory: true)
let center = DownloadCenter(
    configuration: DownloadConfiguration(
        finishedDirectory: folder, unfinishedDirectory: folder.appendingPathComponent("Unfinished", isDirectory: true)))
let screen = Screen()
let table = Table(center, on: screen)
var isInteractive = true

/// Exits when all downloads have finished; with failures only when the input has ended, so that no row can be resumed.
@MainActor func endIfDone() {
    let isOver = center.rows.allSatisfy { [.finished, .failed].contains($0.state.kind) }
    let hasFailed = center.rows.contains { $0.state.kind == .failed }
    guard isOver, !hasFailed || !isInteractive else { return }
    table.draw()
    for row in center.rows { screen.print("\(row.name): \(row.note)") }
    exit(hasFailed ? 1 : 0)
}

center.onChange = {
    table.update()
    endIfDone()
}
screen.print(
    "A number is that row's button, d NUMBER removes it, P and R pause and resume all, a URL adds a row, q quits")
table.draw()
for text in arguments.dropFirst() { URL(string: text).map(center.add) }
onTypedLine { line in
    table.leave()
    switch line {
    case "P": center.pauseAll()
    case "R": center.resumeAll()
    case "q":
        // Stopping is not a failure: the next launch restores the list.
        center.onChange = {}
        Task {
            await center.close()
            exit(0)
        }
    case nil:
        isInteractive = false
        endIfDone()
    case let line?:
        if let number = Int(line) {
            center.press(number - 1)
        } else if line.hasPrefix("d "), let number = Int(line.dropFirst(2)) {
            center.remove(number - 1)
        } else if let url = URL(string: line), url.host() != nil {
            center.add(url)
        }
    }
}
// The downloaders are observed on the main queue, so the program runs that queue.
runMainQueue()
