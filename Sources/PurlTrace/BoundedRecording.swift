import Foundation
import Purl

/// The largest numbers that a recording is drawn and exported with.
private enum Bound {
    /// About 36 years, in nanoseconds.
    static let time: Int64 = 1 << 60
    /// More than one event is ever about: 4 GiB.
    static let bytes = 1 << 32
    /// More than a file has.
    static let length: Int64 = 1 << 60
    /// More than heads have: 1 MiB.
    static let head = 1 << 20
    /// Of tasks, exchanges, connections and calls.
    static let number = 1 << 31
    /// The year 2200, in seconds since 1970.
    static let date = 7_258_118_400.0
}

extension TransferTrace.Recording {
    /// The recording with numbers that can be: one that was read from a file, or made by hand, may have any, and sums of them
    /// must not overflow.
    var bounded: TransferTrace.Recording {
        let seconds = startDate.timeIntervalSince1970
        return TransferTrace.Recording(
            startDate: Date(timeIntervalSince1970: seconds.isNaN ? 0 : seconds.bounded(by: Bound.date)),
            events: events.map(\.bounded), droppedEvents: droppedEvents, droppedBytes: droppedBytes)
    }
}

extension TransferTrace.Event {
    fileprivate var bounded: TransferTrace.Event {
        var event = self
        event.nanoseconds = nanoseconds.bounded(by: Bound.time)
        event.task = task?.bounded(by: Bound.number)
        event.exchange = exchange?.bounded(by: Bound.number)
        event.connection = connection?.bounded(by: Bound.number)
        event.kind = kind.bounded
        return event
    }
}

extension TransferTrace.Kind {
    fileprivate var bounded: TransferTrace.Kind {
        switch self {
        case .connected(var connection):
            connection.lookUp = connection.lookUp?.bounded(by: Bound.time)
            connection.connect = connection.connect?.bounded(by: Bound.time)
            return .connected(connection)
        case .requestHead(var head):
            head.byteCount = head.byteCount.bounded(by: Bound.head)
            return .requestHead(head)
        case .responseHead(var head):
            head.byteCount = head.byteCount.bounded(by: Bound.head)
            return .responseHead(head)
        case .interimHead(var head):
            head.byteCount = head.byteCount.bounded(by: Bound.head)
            return .interimHead(head)
        case .bodySent(let piece): return .bodySent(piece.bounded)
        case .bodyReceived(let piece): return .bodyReceived(piece.bounded)
        case .decoded(let piece): return .decoded(piece.bounded)
        case .frameSent(let frame): return .frameSent(frame.bounded)
        case .frameReceived(let frame): return .frameReceived(frame.bounded)
        case .streamSent(let count): return .streamSent(count.bounded(by: Bound.bytes))
        case .streamReceived(let count): return .streamReceived(count.bounded(by: Bound.bytes))
        case .written(let count): return .written(count.bounded(by: Bound.bytes))
        case .file(.write(let count)): return .file(.write(count.bounded(by: Bound.bytes)))
        case .file(.record(let bytes)): return .file(.record(bytes: bytes?.bounded(by: Bound.length)))
        case .storing(let offset): return .storing(offset: offset.bounded(by: Bound.length))
        case .queued(let call): return .queued(call.bounded)
        case .began(let call): return .began(call.bounded)
        case .ended(let call): return .ended(call.bounded)
        default: return self
        }
    }
}

extension TransferTrace.Piece {
    fileprivate var bounded: TransferTrace.Piece {
        var piece = self
        piece.count = count.bounded(by: Bound.bytes)
        piece.wireCount = wireCount.bounded(by: Bound.bytes)
        return piece
    }
}

extension TransferTrace.WebSocketFrame {
    fileprivate var bounded: TransferTrace.WebSocketFrame {
        var frame = self
        frame.count = count.bounded(by: Bound.bytes)
        return frame
    }
}

extension TransferTrace.DelegateCall {
    fileprivate var bounded: TransferTrace.DelegateCall {
        var call = self
        call.number = number.bounded(by: Bound.number)
        return call
    }
}

extension Comparable where Self: ExpressibleByIntegerLiteral {
    fileprivate func bounded(by limit: Self) -> Self { min(max(self, 0), limit) }
}
