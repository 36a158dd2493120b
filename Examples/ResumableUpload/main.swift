import ExampleStage
import Foundation

// swift run ResumableUpload [FILE URL]
let arguments = Array(CommandLine.arguments.dropFirst())

guard !arguments.isEmpty else { play(story) }
guard arguments.count == 2, let url = URL(string: arguments[1]) else {
    print("usage: ResumableUpload [FILE URL]")
    exit(64)
}
let screen = Screen()
let controller = UploadController(URL(fileURLWithPath: arguments[0]), to: url)
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
