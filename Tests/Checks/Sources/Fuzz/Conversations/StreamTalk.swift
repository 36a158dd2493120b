import Foundation
import Synchronization

@testable import Purl

/// Makes the calls of a plan to a stream task, and keeps their results.
struct StreamTalk {
    struct Piece: Sendable {
        let bytes: Data?
        let isLast: Bool
    }

    struct Read {
        let call: Call<Piece>
        let minimum: Int
        let maximum: Int
    }

    struct Write {
        let call: Call<Void>
        let bytes: [UInt8]
    }

    private enum Act: Int, CaseIterable {
        case read, write, readAndGiveUp, readBriefly, closeWrite, closeRead, capture, secure, suspend, cancel
    }

    let task: URLSessionStreamTask
    let witness: Witness
    private(set) var reads: [Read] = []
    private(set) var writes: [Write] = []
    /// The task was asked to end at once.
    private(set) var isCancelled: Bool
    private(set) var closesRead = false
    private(set) var closesWrite = false
    /// Reading was closed before the streams were asked for.
    private(set) var capturesNothing = false
    /// Something was asked for that ends the task, or hands its streams over.
    private(set) var isGivenAway = false
    /// Everything that came was asked for.
    private(set) var isDrained = false

    private var calls: OpenCalls

    private static let lengths = [1, 2, 7, 100, 5000, 1 << 20, .max, 0, -1]
    private static let sizes = [1, 0, 5, 100, 16_384, 70_000]

    init(_ task: URLSessionStreamTask, _ witness: Witness, isCancelled: Bool) {
        self.task = task
        self.witness = witness
        self.isCancelled = isCancelled
        calls = OpenCalls(to: task, witness.bell)
    }

    mutating func perform(_ acts: [ConversationPlan.Act], then ending: ConversationPlan.Ending) {
        for act in acts {
            if act.waits { settle() }
            perform(act)
        }
        settle()
        end(ending)
        let (task, witness) = (task, witness)
        witness.bell.wait("a stream task ends") { witness.account(of: task).isOver }
        // What is asked for after the end is answered, too.
        read(1, 10)
        write(Array("late".utf8))
        settle()
    }

    private mutating func settle() { calls.settle("what is asked of a stream task is answered") }

    private mutating func perform(_ act: ConversationPlan.Act) {
        let minimum = Self.lengths[act.value % 16 % Self.lengths.count]
        let maximum = Self.lengths[act.value / 16 % Self.lengths.count]
        switch Act.allCases[act.code % Act.allCases.count] {
        case .read: read(minimum, maximum)
        case .readBriefly: read(minimum, maximum, timeout: 0.001)
        case .readAndGiveUp: readAndGiveUp(minimum, maximum)
        case .write: write((0..<Self.sizes[act.value % Self.sizes.count]).map { UInt8(0x61 + ($0 + act.value) % 26) })
        case .closeRead: closeRead()
        case .closeWrite: closeWrite()
        case .capture: capture()
        case .secure:
            isGivenAway = true
            task.startSecureConnection()
        case .suspend: calls.suspend()
        case .cancel: cancel()
        }
    }

    private mutating func end(_ ending: ConversationPlan.Ending) {
        switch ending {
        case .drain:
            isDrained = true
            repeat {
                read(1, 4096)
                settle()
            } while reads.last?.call.value?.isLast == false
            closeWrite()
        case .close:
            closeRead()
            closeWrite()
        case .cancel: cancel()
        case .capture: capture()
        }
    }

    // MARK: Calls

    private mutating func newRead(_ minimum: Int, _ maximum: Int) -> Call<Piece> {
        let call: Call<Piece> = calls.add("read")
        reads.append(Read(call: call, minimum: minimum, maximum: maximum))
        return call
    }

    private mutating func read(_ minimum: Int, _ maximum: Int, timeout: TimeInterval = 0) {
        let call = newRead(minimum, maximum)
        task.readData(ofMinLength: minimum, maxLength: maximum, timeout: timeout) { bytes, isLast, error in
            call.end(error.map { .failure($0) } ?? .success(Piece(bytes: bytes, isLast: isLast)))
        }
    }

    /// Its turn is known only once it has finished, so no other call is made meanwhile.
    private mutating func readAndGiveUp(_ minimum: Int, _ maximum: Int) {
        settle()
        let call = newRead(minimum, maximum)
        call.endGivingUp { [task] in
            let (bytes, isLast) = try await task.readData(ofMinLength: minimum, maxLength: maximum, timeout: 0)
            return Piece(bytes: bytes, isLast: isLast)
        }
        settle()
    }

    private mutating func write(_ bytes: [UInt8]) {
        let call: Call<Void> = calls.add("write")
        writes.append(Write(call: call, bytes: bytes))
        task.write(Data(bytes), timeout: 0) { call.end($0) }
    }

    private mutating func closeRead() {
        closesRead = true
        task.closeRead()
    }

    private mutating func closeWrite() {
        closesWrite = true
        task.closeWrite()
    }

    private mutating func capture() {
        if !isGivenAway { capturesNothing = closesRead }
        isGivenAway = true
        task.captureStreams()
    }

    private mutating func cancel() {
        isCancelled = true
        task.cancel()
    }
}
