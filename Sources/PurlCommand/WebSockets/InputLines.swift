import Foundation

/// What somebody types, or a pipe brings.
enum InputLines {
    /// The lines of standard input as they come. Waiting for them takes a thread of its own, for as long as it takes.
    static func all() -> AsyncStream<String> {
        let (lines, toLines) = AsyncStream<String>.makeStream()
        Thread.detachNewThread {
            while let line = readLine() { toLines.yield(line) }
            toLines.finish()
        }
        return lines
    }
}
