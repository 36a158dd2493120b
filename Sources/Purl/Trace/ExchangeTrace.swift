import Foundation
internal import PurlHTTP
internal import PurlIO

/// Writes the events of one request and its response into a trace.
@NetworkActor
final class ExchangeTrace {
    private let task: TaskTrace
    private let number: Int
    private let connection: Int
    /// The request's body where it is in memory, as far as it is kept.
    private var contentToSend: Data?
    private var contentSent = 0
    private var wireSent: Int64 = 0
    private var isSent = false
    private var headBytes = 0
    private var room: Int

    init(
        _ task: TaskTrace, _ head: RequestHead, byteCount: Int, _ body: OutgoingBody, url: String, connection: Int
    ) {
        self.task = task
        self.connection = connection
        number = task.trace.nextExchange()
        room = task.trace.options.maximumContent
        if case .data(let data) = body { contentToSend = data.prefix(room) }
        record(
            .requestHead(
                TransferTrace.RequestHead(
                    url: url, method: head.method.name, target: head.target, stored: fields(head.fields),
                    byteCount: byteCount)))
        if let cookies = head.fields[.cookie] {
            let names = cookies.split(separator: ";")
                .map { $0.prefix { $0 != "=" }.trimmingCharacters(in: .whitespaces) }
            record(.cookiesSent(names: names))
        }
    }

    private func fields(_ fields: HeaderFields) -> TracedFields {
        TracedFields(fields, keepingSecrets: task.trace.options.keepsSecrets)
    }

    private func record(_ kind: TransferTrace.Kind, effect: TransferTrace.Token? = nil) {
        task.record(TransferTrace.Draft(kind: kind, exchange: number, connection: connection, effect: effect))
    }

    // MARK: Sending

    /// - Parameter content: How many bytes of content have gone out with the last call.
    func sent(_ message: OutgoingMessage, content count: Int) {
        let wire = Int(message.bodySent - wireSent)
        wireSent = message.bodySent
        if wire > 0 {
            let rest = contentToSend?.dropFirst(contentSent).prefix(count)
            let kept = task.trace.reserve(rest?.count ?? 0)
            contentSent += count
            record(
                .bodySent(
                    TransferTrace.Piece(
                        count: count, wireCount: wire, content: kept > 0 ? rest.map { Data($0.prefix(kept)) } : nil)))
        }
        if message.isSent, !isSent {
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
        let traced = TransferTrace.ResponseHead(
            status: head.status, reason: head.reason, stored: fields(head.fields), byteCount: headBytes)
        headBytes = 0
        record(head.isInterim ? .interimHead(traced) : .responseHead(traced))
    }

    /// - Parameters:
    ///   - wireCount: How many bytes of the message there were.
    ///   - content: Those that are content.
    func received(_ wireCount: Int, content: UnsafeRawBufferPointer) {
        let kept = task.trace.reserve(min(room, content.count))
        room -= kept
        record(
            .bodyReceived(
                TransferTrace.Piece(
                    count: content.count, wireCount: wireCount,
                    content: kept > 0 ? Data(content.prefix(kept)) : nil)), effect: bytes)
    }

    /// Content has gone into a file without passing through the process.
    func moved(_ count: Int) {
        record(.bodyReceived(TransferTrace.Piece(count: count)), effect: bytes)
    }

    private var bytes: TransferTrace.Token { .bytes(task: task.task) }

    // MARK: Ends

    private var ending: TransferTrace.Token { .ending(task: task.task) }

    func finished(connectionStays: Bool) {
        record(.responseEnd(connectionStays: connectionStays), effect: ending)
    }

    func switched(_ status: Int) {
        record(.switched(status: status))
    }

    func failed(_ failure: ExchangeFailure) {
        let error = TransferFailure.exchange(failure).urlError(for: nil) as NSError
        record(.exchangeFailed(reason: error.localizedFailureReason ?? error.localizedDescription), effect: ending)
    }

    func abandoned() {
        record(.abandoned, effect: ending)
    }
}
