import ExampleStage
import Foundation

// swift run BackgroundDownload [URL FOLDER [woken]]
let arguments = Array(CommandLine.arguments.dropFirst())

if arguments.isEmpty { play(story) }
guard arguments.count >= 2, let url = URL(string: arguments[0]) else {
    print("usage: BackgroundDownload [URL FOLDER [woken]]")
    exit(64)
}
let isWoken = arguments.count > 2
let screen = Screen()
let downloads = BackgroundDownloads(documents: URL(fileURLWithPath: arguments[1], isDirectory: true)) { count, total in
    DispatchQueue.main.async { screen.show(count, of: total) }
} onMessage: { message in
    DispatchQueue.main.async { screen.print(message) }
}
if isWoken {
    // What a mobile system passes to a program that it launches for a session's events.
    downloads.keep({ exit(0) }, forSession: "films")
}
let center = NotificationCenter.default
// Without a queue: with the main queue the poster would wait for it, while `begin` waits there for the poster.
let observer = center.addObserver(forName: BackgroundDownloads.didFinish, object: nil, queue: nil) { note in
    let hasFile = note.userInfo?["file"] != nil
    DispatchQueue.main.async {
        screen.print(hasFile ? "notification: finished" : "notification: failed")
        if !isWoken { exit(hasFile ? 0 : 1) }
    }
}
downloads.register("films")
onTypedLine { line in
    switch line {
    case "b": downloads.begin(url)
    case "p": downloads.pause()
    case "c": downloads.continue()
    // The next launch restores the download.
    case "q", nil: exit(0)
    default: screen.print("b begins, p pauses, c continues, q quits")
    }
}
runMainQueue()
