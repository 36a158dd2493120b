import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// Writes the events of one request and its response into a trace.
@NetworkActor
final class ExchangeTrace: ExchangeObserver {
    private let task: TaskTrace
    private let number: Int
    private let connection: UInt64
    /// The request's body where it is in memory, as far as it is kept.
    private var contentToSend: Data?
    private var contentSent = 0
    private var wireSent: Int64 = 0
    private var isSent = false
    private var headBytes = 0
    private var room: Int

    init(_ task: TaskTrace, _ sent: SentHead, _ body: OutgoingBody, connection: UInt64) {
        self.task = task
        self.connection = connection
        number = task.trace.nextExchange()
        room = task.trace.options.maximumContent
        if room > 0, case .data(let data) = body { contentToSend = data.prefix(room) }
        record(sent)
        if let cookies = sent.head.fields[.cookie] {
            let names = cookies.split(separator: ";")
                .map { $0.prefix { $0 != "=" }.trimmingCharacters(in: .whitespaces) }
            record(other: .cookiesSent(names: names))
        }
    }

    private func record(_ record: TraceRecord) {
        task.record(record, exchange: number, connection: connection)
    }

    private func record(_ object: some TracedObject) {
        task.record(object, exchange: number, connection: connection)
    }

    private func record(other kind: TransferTrace.Kind) {
        record(EagerEvent(kind))
    }

    // MARK: Sending

    func exchangeDidSend(_ sent: SentBytes, content count: Int) {
        let wire = Int(sent.body - wireSent)
        wireSent = sent.body
        if wire > 0 {
            let rest = contentToSend?.dropFirst(contentSent).prefix(count)
            let kept = task.trace.reserve(rest?.count ?? 0)
            contentSent += count
            if kept > 0, let content = rest?.prefix(kept) {
                record(other: .bodySent(TransferTrace.Piece(count: count, wireCount: wire, content: Data(content))))
            } else {
                record(.bodySent(count: count, wireCount: wire))
            }
        }
        if sent.isComplete, !isSent {
            isSent = true
            record(.requestEnd)
        }
    }

    // MARK: Receiving

    func exchangeDidReceiveHead(bytes count: Int) {
        headBytes += count
    }

    func exchangeDidReceive(_ head: ResponseHead) {
        record(ReceivedHead(head, byteCount: headBytes))
        headBytes = 0
    }

    func exchangeWillReceiveAnotherResponse() {}

    func exchangeDidReceiveBody(bytes wireCount: Int, content: UnsafeRawBufferPointer) {
        if content.isEmpty { return }
        let kept = task.trace.reserve(min(room, content.count))
        room -= kept
        guard kept > 0 else { return record(.bodyReceived(count: content.count, wireCount: wireCount)) }
        let data = Data(content.prefix(kept))
        record(other: .bodyReceived(TransferTrace.Piece(count: content.count, wireCount: wireCount, content: data)))
    }

    func exchangeDidMoveBody(bytes count: Int) {
        record(.bodyReceived(count: count, wireCount: count))
    }

    // MARK: Ends

    func exchangeDidEnd(_ end: ExchangeEnd) {
        switch end {
        case .finished(let connectionStays): record(.responseEnd(connectionStays: connectionStays))
        case .switched(let status): record(other: .switched(status: status))
        case .failed(let failure):
            let error = TransferFailure.exchange(failure).urlError(for: nil) as NSError
            record(other: .exchangeFailed(reason: error.localizedFailureReason ?? error.localizedDescription))
        case .abandoned: record(other: .abandoned)
        case .surrendered: break
        }
    }
}
