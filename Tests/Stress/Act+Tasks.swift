import Foundation
import Purl

extension Act {
    static let tasks: [Act] = [
        .task("resume", weight: 16) { task, _ in task.resume() },
        .task("suspend") { task, _ in task.suspend() },
        .task("cancel", weight: 1) { task, _ in task.cancel() },
        Act("task.cancel(byProducingResumeData:)", weight: 2) { arena, dice in
            guard let task = arena.task(&dice) as? URLSessionDownloadTask else { return }
            task.cancel { data in arena.keep(data) }
        },
        .task("state") { task, _ in _ = task.state },
        .task("priority") { task, dice in
            if dice.once(in: 2) { task.priority = Float(dice.below(5)) / 4 } else { _ = task.priority }
        },
        .task("counts") { task, _ in
            _ = task.countOfBytesReceived + task.countOfBytesSent
            _ = task.countOfBytesExpectedToSend + task.countOfBytesExpectedToReceive
        },
        .task("countOfBytesClientExpectsTo") { task, dice in
            if dice.once(in: 2) {
                task.countOfBytesClientExpectsToSend = Int64(dice.below(1000))
                task.countOfBytesClientExpectsToReceive = Int64(dice.below(1000))
            } else {
                _ = task.countOfBytesClientExpectsToSend + task.countOfBytesClientExpectsToReceive
            }
        },
        .task("currentRequest") { task, _ in _ = task.currentRequest?.allHTTPHeaderFields?.count },
        .task("originalRequest") { task, _ in _ = task.originalRequest?.url?.absoluteString.count },
        .task("response") { task, _ in
            _ = task.response?.suggestedFilename
            _ = (task.response as? HTTPURLResponse)?.allHeaderFields.count
        },
        .task("error") { task, _ in _ = task.error?.localizedDescription },
        .task("taskDescription") { task, dice in
            if dice.once(in: 2) { task.taskDescription = "task \(dice.below(100))" } else { _ = task.taskDescription }
        },
        .task("earliestBeginDate", weight: 2) { task, dice in
            switch dice.below(3) {
            case 0: task.earliestBeginDate = Date().addingTimeInterval(Double(dice.below(50)) / 1000)
            case 1: task.earliestBeginDate = nil
            default: _ = task.earliestBeginDate
            }
        },
        .task("prefersIncrementalDelivery") { task, dice in
            if dice.once(in: 2) {
                task.prefersIncrementalDelivery = dice.once(in: 2)
            } else {
                _ = task.prefersIncrementalDelivery
            }
        },
        .task("description") { task, _ in _ = task.description.count },
        .task("copy") { task, _ in _ = task.copy() },
        Act("task.delegate", weight: 2) { arena, dice in
            guard let task = arena.task(&dice) else { return }
            switch dice.below(3) {
            case 0: task.delegate = Nuisance(arena, dice.offspring())
            case 1: task.delegate = nil
            default: _ = task.delegate
            }
        },
        .task("progress") { task, dice in
            let progress = task.progress
            switch dice.below(16) {
            case 0: progress.cancel()
            case 1: progress.pause()
            case 2: progress.resume()
            default: _ = progress.fractionCompleted + Double(progress.completedUnitCount + progress.totalUnitCount)
            }
        },
        Act("Task.cancel", weight: 2) { arena, dice in arena.work(&dice)?.cancel() },
    ]

    static let webSockets: [Act] = [
        .webSocket("send", weight: 8) { arena, task, dice in
            let question = arena.ledger.ask("send")
            let message: URLSessionWebSocketTask.Message =
                dice.once(in: 2)
                ? .string(String(repeating: "text ", count: dice.below(100))) : .data(Data(count: dice.below(20_000)))
            if dice.once(in: 2) {
                task.send(message) { _ in question.answer() }
            } else {
                Task {
                    try? await task.send(message)
                    question.answer()
                }
            }
        },
        .webSocket("receive", weight: 8) { arena, task, dice in
            let question = arena.ledger.ask("receive")
            if dice.once(in: 2) {
                task.receive { _ in question.answer() }
            } else {
                let work = Task {
                    _ = try? await task.receive()
                    question.answer()
                }
                if dice.once(in: 3) { work.cancel() }
            }
        },
        .webSocket("sendPing") { arena, task, dice in
            let question = arena.ledger.ask("sendPing")
            if dice.once(in: 2) {
                task.sendPing { _ in question.answer() }
            } else {
                Task {
                    try? await task.sendPing()
                    question.answer()
                }
            }
        },
        .webSocket("cancel(with:reason:)", weight: 2) { _, task, dice in
            task.cancel(with: dice.pick([.normalClosure, .goingAway, .invalid]) ?? .invalid, reason: Data("bye".utf8))
        },
        .webSocket("cancel(withStatus:reason:)", weight: 1) { _, task, _ in task.cancel(withStatus: 4000, reason: nil)
        },
        .webSocket("maximumMessageSize") { _, task, dice in
            if dice.once(in: 4) {
                task.maximumMessageSize = 10_000 << dice.below(8)
            } else {
                _ = task.maximumMessageSize
            }
        },
        .webSocket("closeCode") { _, task, _ in
            _ = task.closeCode
            _ = task.closeReason
            _ = task.closeStatus
        },
    ]
}
