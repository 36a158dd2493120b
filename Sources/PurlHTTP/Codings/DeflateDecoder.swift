/// Undoes raw deflate compression (RFC 1951), as WebSocket messages use it: in bounded memory, and with one window over
/// all messages. After an error the decoder cannot be used further.
package struct DeflateDecoder: Sendable {
    private var inflater = Inflater()
    /// Whether the last call stopped because of its limit. Then there may be more output even without more input.
    package private(set) var stoppedAtLimit = false
    /// Whether the last block has been decoded. Bytes after it are not taken.
    package private(set) var isFinished = false

    package init() {
        inflater.reset()
    }

    /// Continues with another stream after the last block of one. It may refer to earlier bytes.
    package mutating func continueAfterEnd() {
        guard isFinished else { return }
        isFinished = false
        inflater.continueAfterEnd()
    }

    /// Whether no block has begun that has not ended, as after a flush.
    package var isBetweenBlocks: Bool { inflater.isBetweenBlocks }

    /// Takes compressed bytes, appends up to `limit` decoded ones, and returns how many bytes it took. The caller calls
    /// again with the rest as long as there is one, if not `isFinished`, or `stoppedAtLimit` is true.
    package mutating func decode(
        _ input: RawSpan, into output: inout [UInt8], limit: Int
    ) throws(DecodeError) -> Int {
        let (sum, overflow) = output.count.addingReportingOverflow(max(0, limit))
        let goal = overflow ? Int.max : sum
        var position = 0
        var needsInput = false
        while true {
            inflater.window.deliver(into: &output, upTo: goal)
            stoppedAtLimit = output.count >= goal
            guard !stoppedAtLimit, !needsInput, !isFinished else { return position }
            switch try inflater.inflate(input, from: &position) {
            case .needsInput: needsInput = true
            case .windowFull: break
            case .finished: isFinished = true
            }
        }
    }
}
