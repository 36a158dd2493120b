import ExampleStage
import Foundation

// swift run DataTaskToFile [handle|stream|sink URL FILE]
let arguments = Array(CommandLine.arguments.dropFirst())

if arguments.isEmpty { play(story) }
guard arguments.count == 3, let url = URL(string: arguments[1]) else {
    print("usage: DataTaskToFile [handle|stream|sink URL FILE]")
    exit(64)
}
let file = URL(fileURLWithPath: arguments[2])
let download: any Download =
    switch FileAppender.Way(rawValue: arguments[0]) {
    case let way?: FileDownload(url, to: file, way: way)
    case nil: SinkDownload(url, to: file)
    }
let screen = Screen()
download.onProgress = screen.show
download.onMessage = screen.print
download.onEnd = { exit(0) }

// Before any request.
screen.printOnDisk(download.size, of: download.total)
onTypedLine { line in
    switch line {
    case "s": download.start()
    case "p": download.suspend()
    case "r": download.resume()
    case "c": download.cancel()
    case "q", nil: download.close()
    default: screen.print("s starts, p suspends, r resumes, c cancels, q quits")
    }
}
// The session calls its delegate on the main queue, so the program runs that queue.
runMainQueue()
