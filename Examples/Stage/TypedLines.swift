import Foundation

/// What somebody types: each line of the standard input, and `nil` when there will be no more.
public func onTypedLine(_ handler: @escaping @MainActor @Sendable (String?) -> Void) {
    // Reading blocks, so it has a thread of its own.
    Thread.detachNewThread {
        var isOpen = true
        while isOpen {
            let line = readLine()
            isOpen = line != nil
            DispatchQueue.main.async { handler(line) }
        }
    }
}
