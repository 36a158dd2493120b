import ExampleStage
import Foundation

// swift run PauseAndResume [URL [FOLDER]]
let arguments = CommandLine.arguments.dropFirst()

guard let text = arguments.first else { play(story) }
guard let url = URL(string: text) else {
    print("usage: PauseAndResume [URL [FOLDER]]")
    exit(64)
}
let folder = URL(fileURLWithPath: arguments.dropFirst().first ?? ".", isDirectory: true)
try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
let screen = Screen()
let controller = DownloadController(url: url, folder: folder)
controller.onProgress = screen.show
controller.onMessage = screen.print
controller.onEnd = { isComplete in if isComplete { exit(0) } }

screen.print("An empty line is the button: it pauses and resumes. q quits.")
controller.press()
onTypedLine { line in
    switch line {
    case "": controller.press()
    case "q": exit(0)
    case nil:
        // Without input the button cannot be pressed after a failure: the next end is the last one.
        guard controller.isBusy else { exit(1) }
        controller.onEnd = { exit($0 ? 0 : 1) }
    default: break
    }
}
// The session calls its delegate on the main queue, so the program runs that queue.
runMainQueue()
