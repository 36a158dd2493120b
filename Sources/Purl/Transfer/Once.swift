internal import PurlIO
import Synchronization

/// A question's answer, which counts once however often a user gives it, and is acted on where the transfer lives.
final class Once<Answer: Sendable>: Sendable {
    private let act: Mutex<(@Sendable @NetworkActor (Answer) -> Void)?>

    init(_ act: @escaping @Sendable @NetworkActor (Answer) -> Void) {
        self.act = Mutex(act)
    }

    func answer(_ answer: Answer) {
        let act = act.withLock { act in
            defer { act = nil }
            return act
        }
        if let act { NetworkActor.post { act(answer) } }
    }
}
