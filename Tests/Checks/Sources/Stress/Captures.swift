import Foundation
import Purl
import Synchronization

/// The captured streams that a thread is using.
final class Captures: Sendable {
    /// Pairs beyond these are closed at once, or released.
    private static let places = 12

    /// Two streams of a connection. `@unchecked Sendable`: one thread reads and writes them; others read their status and
    /// close them, which streams allow.
    private struct Pair: @unchecked Sendable {
        let input: InputStream
        let output: OutputStream

        func close() {
            input.close()
            output.close()
        }
    }

    private struct State {
        var pairs: [Int: Pair] = [:]
        var last = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    /// Starts a thread that uses two captured streams, which no other thread has.
    func take(_ input: InputStream, _ output: OutputStream, _ dice: inout Dice) {
        let pair = Pair(input: input, output: output)
        let number: Int? = state.withLock { state in
            guard !state.isClosed, state.pairs.count < Self.places else { return nil }
            state.last += 1
            state.pairs[state.last] = pair
            return state.last
        }
        guard let number else {
            if dice.once(in: 2) { pair.close() }
            return
        }
        let own = dice.offspring()
        Thread {
            var dice = own
            Self.talk(over: pair, &dice)
            self.state.withLock { _ = $0.pairs.removeValue(forKey: number) }
        }.start()
    }

    func closeOne(_ dice: inout Dice) {
        let pair = state.withLock { dice.pick(Array($0.pairs.values)) }
        if dice.once(in: 2) { pair?.input.close() } else { pair?.output.close() }
    }

    func lookAtOne(_ dice: inout Dice) {
        guard let pair = state.withLock({ dice.pick(Array($0.pairs.values)) }) else { return }
        _ = (pair.input.streamStatus, pair.input.streamError, pair.input.hasBytesAvailable)
        _ = (pair.output.streamStatus, pair.output.streamError, pair.output.hasSpaceAvailable)
    }

    /// No more bytes are sent.
    func close() {
        let pairs = state.withLock { state in
            state.isClosed = true
            return Array(state.pairs.values)
        }
        for pair in pairs { pair.close() }
    }

    /// Opens the streams, writes, reads and closes them. Waits for as long as the streams do.
    private static func talk(over pair: Pair, _ dice: inout Dice) {
        if dice.once(in: 16) { return }
        if dice.once(in: 2) { pair.output.open() }
        pair.input.open()
        pair.output.open()
        if dice.once(in: 4) { listen(to: pair) }
        var bytes = [UInt8](repeating: 1, count: 20_000)
        for _ in 0..<dice.below(8) {
            if dice.once(in: 2), pair.output.write(&bytes, maxLength: dice.below(bytes.count)) < 0 { break }
            if dice.once(in: 2), pair.input.read(&bytes, maxLength: dice.below(bytes.count) + 1) <= 0 { break }
        }
        // Streams that are not closed here close when they are released.
        if !dice.once(in: 8) { pair.close() }
    }

    /// Receives events on a run loop for a moment.
    private static func listen(to pair: Pair) {
        let listener = Listener()
        for stream in [pair.input, pair.output] as [Stream] {
            stream.delegate = listener
            stream.schedule(in: .current, forMode: .default)
        }
        _ = RunLoop.current.run(mode: .default, before: Date().addingTimeInterval(0.01))
        for stream in [pair.input, pair.output] as [Stream] {
            stream.remove(from: .current, forMode: .default)
            stream.delegate = nil
        }
        withExtendedLifetime(listener) {}
    }

    private final class Listener: NSObject, StreamDelegate {
        func stream(_ aStream: Stream, handle eventCode: Stream.Event) { _ = aStream.streamStatus }
    }
}
