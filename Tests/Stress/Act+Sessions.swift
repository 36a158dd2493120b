import Foundation
import Purl

extension Act {
    static let sessions: [Act] = [
        Act("session.replace", weight: 1) { arena, dice in if dice.once(in: 4) { arena.replaceSession(&dice) } },
        .session("finishTasksAndInvalidate", weight: 1) { session, dice in
            if dice.once(in: 32) { session.finishTasksAndInvalidate() }
        },
        .session("invalidateAndCancel", weight: 1) { session, dice in
            if dice.once(in: 32) { session.invalidateAndCancel() }
        },
        Act("session.getAllTasks") { arena, dice in
            let offspring = dice.offspring()
            arena.session(&dice).getAllTasks { tasks in
                var dice = offspring
                if let task = dice.pick(tasks) { arena.share(task, &dice) }
            }
        },
        .session("getTasksWithCompletionHandler") { session, _ in
            session.getTasksWithCompletionHandler { data, uploads, downloads in
                _ = data.count + uploads.count + downloads.count
            }
        },
        .session("allTasks", weight: 2) { session, _ in
            Task { _ = await session.allTasks.count + session.tasks.0.count }
        },
        .session("flush") { session, _ in session.flush {} },
        .session("reset", weight: 1) { session, dice in if dice.once(in: 4) { session.reset {} } },
        .session("configuration") { session, dice in
            let configuration = session.configuration
            configuration.timeoutIntervalForRequest = 1
            configuration.httpAdditionalHeaders = ["X-Number": "\(dice.below(10))"]
            _ = (configuration.copy() as? URLSessionConfiguration)?.httpAdditionalHeaders
        },
        .session("delegate") { session, _ in _ = session.delegate },
        .session("sessionDescription") { session, dice in
            if dice.once(in: 2) { session.sessionDescription = "session" } else { _ = session.sessionDescription }
        },
        .session("delegateQueue") { session, dice in
            let queue = session.delegateQueue
            switch dice.below(4) {
            case 0: queue.addOperation {}
            case 1: queue.cancelAllOperations()
            case 2:
                queue.isSuspended = true
                queue.isSuspended = false
            default: _ = queue.operationCount
            }
        },
        Act("server.closeConnections", weight: 1) { arena, dice in
            if dice.once(in: 32) { arena.server.closeConnections() }
        },
    ]
}
