import Foundation
internal import PurlIO

/// How bytes go out: as fast as the server takes them.
extension StreamConversation {
    /// So much is sent at once, so that other connections have their turn.
    private static let bytesPerTurn = 1 << 20
    /// Small writes are gathered until there are that many bytes, so that they share a segment and a system call.
    private static let batch = 16_384

    // MARK: The user's calls

    func write(_ bytes: Data, timeout: Duration?, _ handler: @escaping StreamOperation.Handler) {
        let write = StreamOperation(.write(bytes, handler))
        if case .over(let reason) = stage { return write.fail(reason ?? overError) }
        limit(write, to: timeout)
        writes.append(write)
        serve()
    }

    /// Nothing more is written once what was to be written before has gone.
    func closeWrite() {
        if case .over = stage { return }
        writes.append(StreamOperation(.close))
        serve()
    }

    /// Comes about when all reads and writes that were asked for before have.
    func append(_ barrier: StreamOperation.Barrier) {
        if case .over = stage { return }
        let operation = StreamOperation(.barrier(barrier))
        reads.append(operation)
        writes.append(operation)
        serve()
    }

    // MARK: Serving

    /// The first write, or what waits among them, that has not been answered.
    var firstWrite: StreamOperation? {
        while let first = writes.first, first.isOver { writes.removeFirst() }
        return writes.first
    }

    var mayWrite: Bool { isOpen && !isPaused }

    /// There is something that only the socket keeps from going out.
    var hasMoreToSend: Bool { (firstWrite?.unsent ?? 0) > 0 }

    func transportIsWritable(_ transport: any Transport) {
        serve()
    }

    func takeTurn(sending allowance: Int) {
        if mayWrite { flush(atMost: allowance) }
        serve()
    }

    /// Hands to the socket what it takes.
    func flush() {
        guard mayWrite else { return }
        guard let sending, hasMoreToSend else { return flush(atMost: Self.bytesPerTurn) }
        let allowance = sending.ask()
        if allowance > 0 { flush(atMost: min(allowance, Self.bytesPerTurn)) }
    }

    private func flush(atMost limit: Int) {
        var budget = limit
        while let operation = firstWrite {
            switch operation.kind {
            case .write:
                if let refusal {
                    operation.fail(refusal)
                } else if operation.unsent == 0 {
                    operation.finish()
                } else {
                    guard budget > 0, let count = send(atMost: budget), count > 0 else { return }
                    budget -= count
                }
            case .close:
                writes.removeFirst()
                closeOutput()
            case .read:
                writes.removeFirst()
            case .barrier:
                return
            }
        }
    }

    /// Why nothing can be written any more.
    private var refusal: URLError? {
        switch output {
        case .open: nil
        case .closed: error(.closed(reading: false))
        case .lost(let failure): error(failure)
        }
    }

    /// Sends from the first write on; `nil` when that failed.
    private func send(atMost budget: Int) -> Int? {
        guard let socket, let first = firstWrite, case .write(let data, _) = first.kind else { return nil }
        do throws(SystemError) {
            let count: Int
            if first.unsent >= Self.batch || writes.count == 1 {
                count = try data.bytes.withUnsafeBytes { bytes throws(SystemError) in
                    let end = first.sent + min(first.unsent, budget)
                    return try socket.send(UnsafeRawBufferPointer(rebasing: bytes[first.sent..<end]))
                }
            } else {
                let bytes = gatheredWrites(atMost: budget)
                count = try bytes.span.bytes.withUnsafeBytes { bytes throws(SystemError) in try socket.send(bytes) }
            }
            note(sent: count)
            return count
        } catch {
            // What the server said before is read first. If it said nothing, reading ends in the same error.
            loseOutput(.lost(error))
            return nil
        }
    }

    private func gatheredWrites(atMost budget: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.batch)
        for position in 0..<writes.count {
            let room = min(Self.batch, budget) - bytes.count
            guard room > 0 else { break }
            guard let operation = writes[position] else { break }
            if operation.isOver { continue }
            guard case .write(let data, _) = operation.kind else { break }
            bytes.append(contentsOf: data.dropFirst(operation.sent).prefix(room))
        }
        return bytes
    }

    /// The system has so many bytes more.
    private func note(sent count: Int) {
        guard count > 0 else { return }
        sending?.take(count)
        transfer?.didSend(count)
        var rest = count
        while rest > 0, let operation = firstWrite {
            let part = min(rest, operation.unsent)
            operation.sent += part
            rest -= part
            if operation.unsent > 0 { return }
            operation.finish()
        }
    }

    // MARK: Ends

    private func closeOutput() {
        guard case .open = output else { return }
        output = .closed
        socket?.shutdownWrite()
        transfer?.didCloseWriting()
    }

    /// Nothing can be written any more; what comes can still be read.
    func loseOutput(_ failure: StreamFailure) {
        guard case .open = output else { return }
        output = .lost(failure)
        transfer?.didCloseWriting()
        // What closes the direction has nothing left to do, either.
        let reason = error(failure)
        while let operation = firstWrite, operation.isOfWriting {
            writes.removeFirst()
            operation.fail(reason)
        }
    }
}

extension StreamOperation {
    /// Not what waits for both directions.
    fileprivate var isOfWriting: Bool {
        if case .barrier = kind { return false }
        return true
    }
}
