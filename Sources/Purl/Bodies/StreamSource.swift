import Foundation
internal import PurlConnections
internal import PurlHTTP
import Synchronization

/// Reads a user's stream: in chunks when its length is unknown, else exactly as many bytes as were promised.
final class StreamSource: BodySource {
    private struct State {
        var isOpen = false
        /// How many bytes of the announced length are missing.
        var remaining: Int64
    }

    private let body: BodyStream
    private let length: Int64?
    private let state: Mutex<State>

    init(_ body: BodyStream, length: Int64?) {
        self.body = body
        self.length = length
        state = Mutex(State(remaining: length ?? 0))
    }

    func next() throws(BodyFailure) -> BodyPiece {
        try state.withLock { state throws(BodyFailure) in
            do throws(BodyFailure) {
                try open(&state)
                let piece = if let length { try plainPiece(of: length, &state.remaining) } else { try chunk() }
                if piece.isLast { close(&state) }
                return piece
            } catch {
                close(&state)
                throw error
            }
        }
    }

    func close() {
        state.withLock { close(&$0) }
    }

    private func open(_ state: inout State) throws(BodyFailure) {
        guard !state.isOpen else { return }
        state.isOpen = true
        if body.stream.streamStatus == .notOpen { body.stream.open() }
        var rest = body.skipped
        while rest > 0 {
            let count = try read(Int(min(Int64(BodyPiece.limit), rest))).count
            guard count > 0 else { throw .tooShort(length: body.skipped) }
            rest -= Int64(count)
        }
    }

    private func close(_ state: inout State) {
        guard state.isOpen else { return }
        state.isOpen = false
        body.stream.close()
    }

    /// What the stream gives, as one chunk; at its end, the last one.
    private func chunk() throws(BodyFailure) -> BodyPiece {
        let bytes = try read(BodyPiece.limit)
        return bytes.isEmpty ? .lastChunk : .chunk(bytes)
    }

    /// A part of a promised length. The last part is kept back until the stream has ended, so that a server never takes
    /// the beginning of a longer body for the whole.
    private func plainPiece(of length: Int64, _ remaining: inout Int64) throws(BodyFailure) -> BodyPiece {
        var bytes: [UInt8] = []
        if remaining > 0 {
            bytes = try read(Int(min(Int64(BodyPiece.limit), remaining)))
            guard !bytes.isEmpty else { throw .tooShort(length: length) }
            remaining -= Int64(bytes.count)
        }
        if remaining == 0 {
            guard try read(1).isEmpty else { throw .tooLong(length: length) }
        }
        return BodyPiece(wire: bytes, content: 0..<bytes.count, isLast: remaining == 0)
    }

    /// Up to `limit` bytes; none at the end.
    private func read(_ limit: Int) throws(BodyFailure) -> [UInt8] {
        var result = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            result = buffer.baseAddress.map { body.stream.read($0, maxLength: limit) } ?? 0
            count = max(0, min(result, limit))
        }
        guard result >= 0 else { throw .stream(failure) }
        return bytes
    }

    /// Why the stream has failed. On Linux `streamError` traps on a stream that has not.
    private var failure: (any Error)? {
        body.stream.streamStatus == .error ? body.stream.streamError : nil
    }
}
