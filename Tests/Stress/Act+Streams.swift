import Foundation
import Purl

extension Act {
    /// Nearly all have a time, so that what nobody answers does not pile up.
    private static func time(_ dice: inout Dice) -> TimeInterval {
        dice.once(in: 8) ? 0 : Double(dice.below(20) + 1) / 50
    }

    static let streams: [Act] = [
        .stream("readData", weight: 8) { arena, task, dice in
            let minimum = dice.below(dice.once(in: 4) ? 30_000 : 100)
            let maximum = minimum + dice.below(10_000)
            let time = time(&dice)
            let question = arena.ledger.ask("readData")
            if dice.once(in: 2) {
                task.readData(ofMinLength: minimum, maxLength: maximum, timeout: time) { bytes, _, error in
                    arena.ledger.check(bytes == nil || error == nil, "bytes, and an error")
                    arena.ledger.check((bytes?.count ?? 0) <= maximum, "more bytes than were asked for")
                    question.answer()
                }
            } else {
                let work = Task {
                    _ = try? await task.readData(ofMinLength: minimum, maxLength: maximum, timeout: time)
                    question.answer()
                }
                if dice.once(in: 3) { work.cancel() } else { arena.share(work, &dice) }
            }
        },
        .stream("write", weight: 8) { arena, task, dice in
            let bytes = Data(count: dice.once(in: 8) ? 300_000 : dice.below(2000))
            let time = time(&dice)
            let question = arena.ledger.ask("write")
            if dice.once(in: 2) {
                task.write(bytes, timeout: time) { _ in question.answer() }
            } else {
                Task {
                    try? await task.write(bytes, timeout: time)
                    question.answer()
                }
            }
        },
        .stream("closeRead", weight: 1) { _, task, dice in if dice.once(in: 2) { task.closeRead() } },
        .stream("closeWrite", weight: 1) { _, task, dice in if dice.once(in: 2) { task.closeWrite() } },
        .stream("captureStreams", weight: 1) { _, task, _ in task.captureStreams() },
        .stream("startSecureConnection", weight: 1) { _, task, dice in
            if dice.once(in: 4) { task.startSecureConnection() } else { task.stopSecureConnection() }
        },
        Act("capture.close", weight: 2) { arena, dice in arena.captures.closeOne(&dice) },
        Act("capture.status", weight: 2) { arena, dice in arena.captures.lookAtOne(&dice) },
    ]
}
