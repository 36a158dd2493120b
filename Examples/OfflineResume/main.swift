import ExampleStage
import Foundation

// swift run OfflineResume [URL FILE]
let arguments = Array(CommandLine.arguments.dropFirst())

if arguments.isEmpty { play(story) }
guard arguments.count == 2, let url = Address.typed(arguments[0]) else {
    print("usage: OfflineResume [URL FILE]")
    exit(64)
}
let download = OfflineDownload(url, to: URL(fileURLWithPath: arguments[1]))
let screen = Screen()
download.onProgress = screen.show
download.onMessage = screen.print
download.onEnd = { exit(0) }

// The progress on disk is shown before any request, so it needs no network.
screen.print(Address.readable(url))
screen.printOnDisk(download.saved?.bytesReceived ?? 0, of: download.saved?.totalBytes)
onTypedLine { line in
    switch line {
    case "": download.start()
    case "q", nil: download.quit()
    default: screen.print("An empty line starts or resumes, q quits")
    }
}
// The session calls its delegate on the main queue, so the program runs that queue.
runMainQueue()
