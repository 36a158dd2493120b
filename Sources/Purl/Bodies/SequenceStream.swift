import Foundation
internal import PurlConnections
import Synchronization

/// A sequence as a stream, for a ``URLProtocol``: its reads block until the sequence has an element. The sequence is
/// not iterated before the first of them.
final class SequenceStream: InputStream {
    private let reader: SequenceReader
    private let content = SequenceContent()

    init(_ sequence: BodySequence) {
        reader = SequenceReader(sequence, length: nil)
        super.init(data: Data())
    }

    deinit {
        reader.close()
    }

    override func open() { content.open() }

    override func close() {
        content.close()
        reader.close()
    }

    override var streamStatus: Stream.Status { content.status }

    override var streamError: (any Error)? { content.failure }

    /// Whether a read may return bytes: it finds out by waiting for them.
    override var hasBytesAvailable: Bool { streamStatus == .open }

    /// False: there is no buffer that a caller could read from.
    ///
    /// - Parameters:
    ///   - buffer: Ignored.
    ///   - length: Ignored.
    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        while true {
            let bytes = content.take(maxLength)
            if !bytes.isEmpty || maxLength <= 0 {
                for (index, byte) in bytes.enumerated() { buffer[index] = byte }
                return bytes.count
            }
            switch content.status {
            case .open: waitForElement()
            case .atEnd: return 0
            case .notOpen, .opening, .reading, .writing, .closed, .error: return -1
            @unknown default: return -1
            }
        }
    }

    private func waitForElement() {
        let isRead = DispatchSemaphore(value: 0)
        reader.readNext { [content] result in
            content.put(result)
            isRead.signal()
        }
        isRead.wait()
    }
}

/// What has arrived for a stream and was not read, and whether more can follow.
private final class SequenceContent: Sendable {
    private struct State {
        var status = Stream.Status.notOpen
        var failure: (any Error)?
        var bytes: ArraySlice<UInt8> = []
    }

    private let state = Mutex(State())

    var status: Stream.Status { state.withLock { $0.status } }

    var failure: (any Error)? { state.withLock { $0.failure } }

    func open() {
        state.withLock { state in
            if state.status == .notOpen { state.status = .open }
        }
    }

    func close() {
        state.withLock { $0.status = .closed }
    }

    func put(_ result: Result<BodyPiece, BodyFailure>) {
        state.withLock { state in
            guard state.status == .open else { return }
            switch result {
            case .success(let piece):
                state.bytes = piece.wire[piece.content]
                if piece.isLast { state.status = .atEnd }
            case .failure(let failure):
                state.status = .error
                state.failure = failure.underlying ?? failure
            }
        }
    }

    func take(_ limit: Int) -> ArraySlice<UInt8> {
        state.withLock { state in
            let bytes = state.bytes.prefix(max(0, limit))
            state.bytes = state.bytes.dropFirst(bytes.count)
            return bytes
        }
    }
}
