import Foundation
import Purl

/// One request and its response, put together from the events of a trace.
struct TracedExchange {
    /// Bytes that have passed in one direction, in order.
    struct Passage {
        let isSent: Bool
        let nanoseconds: Int64
        let piece: TransferTrace.Piece
    }

    enum Ending {
        case open
        case complete(connectionStays: Bool)
        case switched
        case failed(String)
        case abandoned
    }

    let number: Int
    let task: Int
    let connection: Int
    private(set) var link: TransferTrace.Connection?
    let request: TransferTrace.RequestHead
    private(set) var interim: [(head: TransferTrace.ResponseHead, nanoseconds: Int64)] = []
    private(set) var response: TransferTrace.ResponseHead?
    private(set) var passages: [Passage] = []
    private(set) var decoded: [TransferTrace.Piece] = []
    private(set) var ending = Ending.open
    /// When the request needed a connection; when dialling began; when it had one.
    private(set) var waiting: Int64?
    private(set) var dialling: Int64?
    private(set) var connected: Int64?
    /// How long the TLS handshake of its connection has taken; `nil` where there was none for it.
    private(set) var handshake: Int64?
    /// Frames and messages after a switch to WebSocket, in order.
    private(set) var frames: [(frame: TransferTrace.WebSocketFrame, isSent: Bool, nanoseconds: Int64)] = []
    let start: Int64
    private(set) var requestEnd: Int64?
    private(set) var responseStart: Int64?
    private(set) var end: Int64

    var sentBytes: Int { passages.filter(\.isSent).reduce(0) { $0 + $1.piece.wireCount } }
    var receivedBytes: Int { passages.filter { !$0.isSent }.reduce(0) { $0 + $1.piece.wireCount } }

    /// The exchanges of a recording, in the order in which they began.
    static func all(in recording: TransferTrace.Recording) -> [TracedExchange] {
        var exchanges: [TracedExchange] = []
        var positions: [Int: Int] = [:]
        var latest: [Int: Int] = [:]
        var before: [Int: (waiting: Int64?, dialling: Int64?)] = [:]
        var handshakes: [Int: (start: Int64, end: Int64?)] = [:]
        var links: [Int: (link: TransferTrace.Connection, connected: Int64)] = [:]
        for event in recording.events {
            guard let task = event.task else { continue }
            let time = event.nanoseconds
            switch event.kind {
            case .waiting: before[task] = (time, nil)
            case .dialling: before[task] = (before[task]?.waiting ?? time, time)
            case .handshake: handshakes[task] = (time, nil)
            case .secured: handshakes[task]?.end = time
            case .connected(let connection):
                if let number = event.connection { links[number] = (connection, time) }
                if connection.isReused { before[task] = (before[task]?.waiting, nil) }
            case .requestHead(let head):
                guard let number = event.exchange, let connection = event.connection else { continue }
                var exchange = TracedExchange(
                    number: number, task: task, connection: connection, link: links[connection]?.link, request: head,
                    start: time, end: time)
                exchange.waiting = before[task]?.waiting
                exchange.dialling = before[task]?.dialling
                exchange.connected = links[connection]?.connected
                exchange.handshake = handshakes.removeValue(forKey: task).flatMap { times in
                    times.end.map { $0 - times.start }
                }
                before[task] = nil
                positions[number] = exchanges.count
                latest[task] = exchanges.count
                exchanges.append(exchange)
            case .decoded(let piece):
                if let position = latest[task] { exchanges[position].decoded.append(piece) }
            case .frameSent(let frame):
                if let position = latest[task] { exchanges[position].frames.append((frame, true, time)) }
            case .frameReceived(let frame):
                if let position = latest[task] { exchanges[position].frames.append((frame, false, time)) }
            default:
                if let number = event.exchange, let position = positions[number] { exchanges[position].take(event) }
            }
        }
        return exchanges
    }

    private mutating func take(_ event: TransferTrace.Event) {
        end = event.nanoseconds
        switch event.kind {
        case .requestEnd: requestEnd = event.nanoseconds
        case .interimHead(let head): interim.append((head, event.nanoseconds))
        case .responseHead(let head):
            response = head
            responseStart = event.nanoseconds
        case .bodySent(let piece):
            passages.append(Passage(isSent: true, nanoseconds: event.nanoseconds, piece: piece))
        case .bodyReceived(let piece):
            passages.append(Passage(isSent: false, nanoseconds: event.nanoseconds, piece: piece))
        case .responseEnd(let stays): ending = .complete(connectionStays: stays)
        case .switched: ending = .switched
        case .exchangeFailed(let reason): ending = .failed(reason)
        case .abandoned: ending = .abandoned
        default: break
        }
    }
}
