import Foundation
import PurlHTTP

@testable import Purl

/// Makes the calls of a plan to a WebSocket task, and keeps their results.
struct WebSocketTalk {
    /// What the server has to receive, in this order, as far as it receives anything.
    enum Frame: Equatable {
        case message(WebSocketMessage)
        case ping([UInt8])
        case close(WebSocketClose)
    }

    private enum Act: Int, CaseIterable {
        case receive, text, binary, ping, receiveAndGiveUp, close, suspend, cancel
    }

    let task: URLSessionWebSocketTask
    let witness: Witness
    private(set) var receives: [Call<URLSessionWebSocketTask.Message>] = []
    private(set) var sends: [Call<Void>] = []
    private(set) var pings: [Call<Void>] = []
    private(set) var frames: [Frame] = []
    /// The task was asked to end at once.
    private(set) var isCancelled = false
    /// The connection was asked to be closed.
    private(set) var isClosing = false
    /// Everything that came was asked for.
    private(set) var isDrained = false

    private var calls: OpenCalls

    private static let sizes = [0, 1, 5, 15, 16, 125, 126, 1000, 65_535, 65_536, 70_000]
    private static let codes = [1000, 1001, 3000, 4999, 1005, 0, 1006, 70_000]

    init(_ task: URLSessionWebSocketTask, _ witness: Witness, isCancelled: Bool) {
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
        // Not for pings: they may wait for a server that waits for us to receive.
        settle()
        end(ending)
        let (task, witness) = (task, witness)
        witness.bell.wait("a WebSocket task ends") { witness.account(of: task).isOver }
        // What is asked for after the end is answered, too.
        receive()
        send(.text(Array("late".utf8)))
        settle()
        witness.bell.wait("pings are answered") { [pings] in pings.allSatisfy(\.isOver) }
    }

    /// Waits until the calls have come about, or until there is a connection, where there was none before.
    private mutating func settle() {
        if receives.isEmpty, sends.isEmpty, witness is ExpertWitness {
            calls.resume()
            let (task, witness) = (task, witness)
            return witness.bell.wait("a WebSocket task opens or ends") {
                let account = witness.account(of: task)
                return account.isOpen || account.isOver
            }
        }
        calls.settle("what is asked of a WebSocket task is answered")
    }

    private mutating func perform(_ act: ConversationPlan.Act) {
        let content = (0..<Self.sizes[act.value % Self.sizes.count]).map { UInt8(0x61 + ($0 + act.value) % 26) }
        switch Act.allCases[act.code % Act.allCases.count] {
        case .receive: receive()
        case .receiveAndGiveUp: receiveAndGiveUp()
        case .text: send(.text(content))
        case .binary: send(.binary(content))
        case .ping: ping()
        case .close: close(act.value)
        case .suspend: calls.suspend()
        case .cancel: cancel()
        }
    }

    private mutating func end(_ ending: ConversationPlan.Ending) {
        switch ending {
        case .drain:
            isDrained = true
            repeat {
                receive()
                settle()
            } while receives.last?.value != nil
        case .close: close(0)
        case .cancel, .capture: cancel()
        }
    }

    // MARK: Calls

    private mutating func newReceive() -> Call<URLSessionWebSocketTask.Message> {
        let call: Call<URLSessionWebSocketTask.Message> = calls.add("receive")
        receives.append(call)
        return call
    }

    private mutating func receive() {
        let call = newReceive()
        task.receive { call.end($0) }
    }

    /// Its turn is known only once it has finished, so no other call is made meanwhile.
    private mutating func receiveAndGiveUp() {
        settle()
        let call = newReceive()
        call.endGivingUp { [task] in try await task.receive() }
        settle()
    }

    private mutating func send(_ message: WebSocketMessage) {
        let call: Call<Void> = calls.add("send")
        sends.append(call)
        frames.append(.message(message))
        switch message {
        case .text(let bytes): task.send(.string(String(decoding: bytes, as: UTF8.self))) { call.end($0) }
        case .binary(let bytes): task.send(.data(Data(bytes))) { call.end($0) }
        }
    }

    private mutating func ping() {
        let call = Call<Void>("ping", witness.bell)
        pings.append(call)
        frames.append(.ping(withUnsafeBytes(of: UInt64(pings.count).bigEndian) { [UInt8]($0) }))
        task.sendPing { call.end($0) }
    }

    private mutating func close(_ value: Int) {
        let code = Self.codes[value % Self.codes.count]
        let reason = [nil, "bye", String(repeating: "é", count: 100)][value / Self.codes.count % 3]
        isClosing = true
        frames.append(.close(WebSocketClose(code: UInt16(exactly: code), reason: reason.map { Array($0.utf8) } ?? [])))
        task.cancel(withStatus: code, reason: reason.map { Data($0.utf8) })
    }

    private mutating func cancel() {
        isCancelled = true
        task.cancel()
    }
}
