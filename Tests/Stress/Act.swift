import Foundation
import Purl

/// One thing that a program may do at any time, from any thread.
struct Act: Sendable {
    let name: String
    /// How often it is done, compared with others.
    let weight: Int
    let perform: @Sendable (Arena, inout Dice) -> Void

    init(_ name: String, weight: Int = 4, _ perform: @escaping @Sendable (Arena, inout Dice) -> Void) {
        self.name = name
        self.weight = weight
        self.perform = perform
    }

    /// What is done to a task, whichever comes to hand.
    static func task(
        _ name: String, weight: Int = 4, _ perform: @escaping @Sendable (URLSessionTask, inout Dice) -> Void
    ) -> Act {
        Act("task.\(name)", weight: weight) { arena, dice in
            if let task = arena.task(&dice) { perform(task, &dice) }
        }
    }

    /// What is done to a WebSocket task.
    static func webSocket(
        _ name: String, weight: Int = 4,
        _ perform: @escaping @Sendable (Arena, URLSessionWebSocketTask, inout Dice) -> Void
    ) -> Act {
        Act("webSocketTask.\(name)", weight: weight) { arena, dice in
            if let task = arena.webSocketTask(&dice) { perform(arena, task, &dice) }
        }
    }

    /// What is done to a stream task.
    static func stream(
        _ name: String, weight: Int = 4,
        _ perform: @escaping @Sendable (Arena, URLSessionStreamTask, inout Dice) -> Void
    ) -> Act {
        Act("streamTask.\(name)", weight: weight) { arena, dice in
            if let task = arena.streamTask(&dice) { perform(arena, task, &dice) }
        }
    }

    /// What is done to a session.
    static func session(
        _ name: String, weight: Int = 4, _ perform: @escaping @Sendable (NumberedSession, inout Dice) -> Void
    ) -> Act {
        Act("session.\(name)", weight: weight) { arena, dice in perform(arena.session(&dice), &dice) }
    }

    /// Everything, each as often as it weighs.
    static let all = (Load.acts + tasks + sessions + storages + webSockets + streams).flatMap {
        Array(repeating: $0, count: $0.weight)
    }
}
