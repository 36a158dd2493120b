import Foundation
internal import PurlHTTP
internal import PurlIO

/// Writes the events of one request and its response into a trace.
@NetworkActor
final class ExchangeTrace {
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
        record(OtherEvent(kind))
    }

    // MARK: Sending

    /// - Parameters:
    ///   - content: How many bytes of content have gone out with the last call.
    ///   - bodySent: How many bytes of the encoded body have gone out so far.
    ///   - isComplete: Whether the whole message has.
    func sent(content count: Int, bodySent: Int64, isComplete: Bool) {
        let wire = Int(bodySent - wireSent)
        wireSent = bodySent
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
        if isComplete, !isSent {
            isSent = true
            record(.requestEnd)
        }
    }

    // MARK: Receiving

    /// Bytes of a head have arrived.
    func addHeadBytes(_ count: Int) {
        headBytes += count
    }

    func received(_ head: ResponseHead) {
        record(ReceivedHead(head, byteCount: headBytes))
        headBytes = 0
    }

    /// - Parameters:
    ///   - wireCount: How many bytes of the message there were.
    ///   - content: Those that are content.
    func received(_ wireCount: Int, content: UnsafeRawBufferPointer) {
        let kept = task.trace.reserve(min(room, content.count))
        room -= kept
        guard kept > 0 else { return record(.bodyReceived(count: content.count, wireCount: wireCount)) }
        let data = Data(content.prefix(kept))
        record(other: .bodyReceived(TransferTrace.Piece(count: content.count, wireCount: wireCount, content: data)))
    }

    /// Content has gone into a file without passing through the process.
    func moved(_ count: Int) {
        record(.bodyReceived(count: count, wireCount: count))
    }

    // MARK: Ends

    func finished(connectionStays: Bool) {
        record(.responseEnd(connectionStays: connectionStays))
    }

    func switched(_ status: Int) {
        record(other: .switched(status: status))
    }

    func failed(_ failure: ExchangeFailure) {
        let error = TransferFailure.exchange(failure).urlError(for: nil) as NSError
        record(other: .exchangeFailed(reason: error.localizedFailureReason ?? error.localizedDescription))
    }

    func abandoned() {
        record(other: .abandoned)
    }
}
