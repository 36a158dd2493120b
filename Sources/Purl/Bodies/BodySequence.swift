import Foundation
internal import PurlConnections
internal import PurlHTTP
import Synchronization

/// An asynchronous sequence that a request's body is made of. It is iterated once, by one transfer.
final class BodySequence: Sendable {
    typealias Visit = @Sendable (Data) async throws -> Void

    private let visitAll: @Sendable (_ visit: Visit) async throws -> Void
    private let taken = Mutex(false)

    init<Base: AsyncSequence & Sendable>(_ base: Base) where Base.Element == Data {
        visitAll = { visit in
            for try await data in base { try await visit(data) }
        }
    }

    /// A transfer has begun to iterate.
    var isTaken: Bool { taken.withLock { $0 } }

    /// Marks the sequence as iterated.
    func take() {
        taken.withLock { $0 = true }
    }

    /// Calls `visit` with each element, the next one after it has returned.
    func iterate(_ visit: Visit) async throws {
        try await visitAll(visit)
    }
}

/// Reads an asynchronous sequence: in chunks when the body's length is unknown, else exactly as many bytes as were
/// promised.
///
/// The sequence is asked for an element when a piece is wanted, and not before. Closing cancels the iteration.
final class SequenceReader: BodyReader {
    private enum State {
        case untouched
        /// The iteration runs until it has a piece.
        case wanted(Completion)
        /// The iteration waits until a piece is wanted.
        case supplied(CheckedContinuation<Void, any Error>)
        /// The last piece or a failure has been handed over, or the reader was closed.
        case over
    }

    private struct Iteration {
        var state = State.untouched
        var task: Task<Void, Never>?
    }

    private let body: BodySequence
    private let length: Int64?
    private let iteration = Mutex(Iteration())

    init(_ body: BodySequence, length: Int64?) {
        self.body = body
        self.length = length
    }

    /// Fails at once where another thread has closed the reader.
    func readNext(then completion: @escaping Completion) {
        let before = iteration.withLock { iteration in
            let before = iteration.state
            switch before {
            case .untouched:
                iteration.state = .wanted(completion)
                iteration.task = Task { await self.read() }
            case .supplied: iteration.state = .wanted(completion)
            case .wanted, .over: break
            }
            return before
        }
        switch before {
        case .supplied(let continuation): continuation.resume()
        case .over: completion(.failure(.sequence(CancellationError())))
        case .untouched, .wanted: break
        }
    }

    func close() {
        let (state, task) = iteration.withLock { iteration in
            defer { iteration = Iteration(state: .over) }
            return (iteration.state, iteration.task)
        }
        task?.cancel()
        switch state {
        case .supplied(let continuation): continuation.resume(throwing: CancellationError())
        case .wanted(let completion): completion(.failure(.sequence(CancellationError())))
        case .untouched, .over: break
        }
    }

    // MARK: The iteration

    private func read() async {
        let framing = Mutex(SequenceFraming(length: length))
        do {
            try await body.iterate { data in
                var rest = data[...]
                while !rest.isEmpty {
                    let piece = try framing.withLock { try $0.piece(of: rest.prefix(BodyPiece.limit)) }
                    rest = rest.dropFirst(BodyPiece.limit)
                    if let piece { try await self.supply(piece) }
                }
            }
            let last = try framing.withLock { try $0.lastPiece() }
            finish(.success(last))
        } catch let failure as BodyFailure {
            finish(.failure(failure))
        } catch {
            finish(.failure(.sequence(error)))
        }
    }

    /// Hands a piece over, and returns when another one is wanted.
    private func supply(_ piece: BodyPiece) async throws {
        try await withCheckedThrowingContinuation { continuation in
            let completion = iteration.withLock { iteration -> Completion? in
                guard case .wanted(let completion) = iteration.state else { return nil }
                iteration.state = .supplied(continuation)
                return completion
            }
            guard let completion else { return continuation.resume(throwing: CancellationError()) }
            completion(.success(piece))
        }
    }

    private func finish(_ result: Result<BodyPiece, BodyFailure>) {
        let completion = iteration.withLock { iteration -> Completion? in
            guard case .wanted(let completion) = iteration.state else { return nil }
            iteration = Iteration(state: .over)
            return completion
        }
        completion?(result)
    }
}

/// Turns the data of a sequence into the pieces of a body.
private struct SequenceFraming {
    private let length: Int64?
    /// How many bytes of the announced length are missing.
    private var remaining: Int64
    /// The last part of a promised length. It is kept back until the sequence has ended, so that a server never takes
    /// the beginning of a longer body for the whole.
    private var last: [UInt8] = []

    /// - Parameter length: What the program has promised; `nil` makes the body chunked.
    init(length: Int64?) {
        self.length = length
        remaining = length ?? 0
    }

    /// The piece of some data that is not empty; `nil` when it is the last part.
    mutating func piece(of data: Data) throws(BodyFailure) -> BodyPiece? {
        let bytes = [UInt8](data)
        guard let length else { return .chunk(bytes) }
        guard Int64(bytes.count) <= remaining else { throw .tooLong(length: length) }
        remaining -= Int64(bytes.count)
        guard remaining == 0 else { return BodyPiece(wire: bytes, content: 0..<bytes.count) }
        last = bytes
        return nil
    }

    /// The piece that ends the body.
    func lastPiece() throws(BodyFailure) -> BodyPiece {
        guard let length else { return .lastChunk }
        guard remaining == 0 else { throw .tooShort(length: length) }
        return BodyPiece(wire: last, content: 0..<last.count, isLast: true)
    }
}
