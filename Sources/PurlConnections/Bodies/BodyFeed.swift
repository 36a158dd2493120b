package import PurlIO

/// Brings a body to its connection, read away from the network thread.
///
/// While one piece goes out the next is read, and no more: so a slow server slows the reading, and two pieces are all
/// the memory it takes.
@NetworkActor
package final class BodyFeed {
    /// What there is now.
    enum Supply {
        case piece(BodyPiece)
        /// Something is being read; ``whenSupplied(_:)`` calls when there is something.
        case nothingYet
        case failed(BodyFailure)
    }

    private enum State {
        case untouched
        case reading
        case ready(BodyPiece)
        case failed(BodyFailure)
        /// The last piece has been handed on, or the feed was closed.
        case over
    }

    private let reader: any BodyReader
    private let willBegin: () -> Void
    private var state = State.untouched
    private var onSupply: (() -> Void)?

    /// - Parameter willBegin: Called before the first read, at once when that is asked for.
    package init(_ reader: any BodyReader, willBegin: @escaping () -> Void = {}) {
        self.reader = reader
        self.willBegin = willBegin
    }

    /// Calls `action` whenever there is something to take after there was nothing; never within a call.
    func whenSupplied(_ action: @escaping () -> Void) {
        onSupply = action
    }

    /// There is something to take.
    var hasSupply: Bool {
        switch state {
        case .ready, .failed: true
        case .untouched, .reading, .over: false
        }
    }

    /// The next piece, if it has been read. Not to be called after the last one.
    func take() -> Supply {
        switch state {
        case .untouched:
            willBegin()
            readNext()
            return .nothingYet
        case .reading, .over:
            return .nothingYet
        case .ready(let piece):
            if piece.isLast { state = .over } else { readNext() }
            return .piece(piece)
        case .failed(let failure):
            return .failed(failure)
        }
    }

    /// Lets go of the file, the stream or the sequence.
    package func close() {
        switch state {
        case .over: return
        case .untouched, .reading, .ready, .failed: break
        }
        state = .over
        onSupply = nil
        reader.close()
    }

    private func readNext() {
        state = .reading
        reader.readNext { [weak self] result in
            NetworkActor.post { self?.didRead(result) }
        }
    }

    private func didRead(_ result: Result<BodyPiece, BodyFailure>) {
        guard case .reading = state else { return }
        state =
            switch result {
            case .success(let piece): .ready(piece)
            case .failure(let failure): .failed(failure)
            }
        onSupply?()
    }
}
