import Foundation
import Testing

@testable import PurlCommand

@Suite("Ctrl-C in purl", .timeLimit(.minutes(5)))
struct InterruptTests {
    /// In a process of its own, which an unhandled signal ends.
    @Test("cancels what is run from its first moment on", arguments: [SIGINT, SIGTERM])
    func firstMoment(signal: Int32) async {
        await #expect(processExitsWith: .success) { [signal] in
            let isCancelled = await Interrupts.cancelling(Console(STDERR_FILENO)) {
                kill(getpid(), signal)
                let (nothing, continuation) = AsyncStream<Void>.makeStream()
                // Ends when the task is cancelled.
                for await _ in nothing {}
                return withExtendedLifetime(continuation) { Task.isCancelled }
            }
            #expect(isCancelled)
        }
    }
}
