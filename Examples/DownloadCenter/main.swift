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
var isAttended = true

/// The program ends when everything is done; with failures only when there is nobody to do anything about them.
@MainActor func endIfDone() {
    let isOver = center.rows.allSatisfy { [.finished, .failed].contains($0.state.kind) }
    let hasFailed = center.rows.contains { $0.state.kind == .failed }
    guard isOver, !hasFailed || !isAttended else { return }
    table.draw()
    for row in center.rows { screen.say("\(row.name): \(row.note)") }
    exit(hasFailed ? 1 : 0)
}

center.onChange = {
    table.update()
    endIfDone()
}
screen.say(
    "A number is that row's button, d NUMBER removes it, P and R pause and resume all, a URL adds a row, q quits")
table.draw()
for text in arguments.dropFirst() { URL(string: text).map(center.add) }
onTypedLine { line in
    table.leave()
    switch line {
    case "P": center.pauseAll()
    case "R": center.resumeAll()
    case "q":
        // What is stopped now is no failure: it will be there at the next launch.
        center.onChange = {}
        Task {
            await center.close()
            exit(0)
        }
    case nil:
        isAttended = false
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
// The downloaders are observed on the main queue, so somebody has to run that queue.
runMainQueue()
