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
download.onMessage = screen.say
download.onEnd = { exit(0) }

// First what is on disk: no request has been made, and there need be no network.
screen.say(Address.readable(url))
screen.sayOnDisk(download.saved?.bytesReceived ?? 0, of: download.saved?.totalBytes)
onTypedLine { line in
    switch line {
    case "": download.start()
    case "q", nil: download.quit()
    default: screen.say("An empty line starts and goes on, q quits")
    }
}
// The session calls its delegate on the main queue, so somebody has to run that queue.
runMainQueue()
