import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// How the upload that a transaction's request belongs to continues: after an interim response, a response, or a failure.
///
/// ``ResumableUpload`` knows the upload across its requests, and which one follows a step; this takes the step in place of
/// the transaction's own request.
@NetworkActor
struct UploadResumption {
    private let upload: ResumableUpload
    private let transaction: Transaction
    private let transfer: Transfer

    /// `nil` where the request belongs to no upload that may be resumed.
    init?(by transaction: Transaction, of transfer: Transfer) {
        guard let upload = transaction.outgoing.upload else { return nil }
        self.upload = upload
        self.transaction = transaction
        self.transfer = transfer
    }

    private var outgoing: OutgoingRequest { transaction.outgoing }
    private var calls: DelegateCalls { transfer.calls }
    /// A body of which the rest can be sent.
    private var canSendRest: Bool { upload.canSendRest(hasDelegate: calls.hasTaskDelegate) }

    /// What a final response means for the upload; `nil` where it means what it would mean to any other request.
    func continuation(after head: ResponseHead) -> ResumableUpload.Continuation? {
        guard
            let continuation = upload.continuation(
                after: head, to: outgoing.request, outgoing.history.uploadRequest)
        else { return nil }
        switch continuation.step {
        // A body that cannot be sent again is not sent in another form, or from an offset on, either.
        case .create: return outgoing.bodyPreparer.canPrepareAgain ? continuation : nil
        case .ask: return canSendRest ? continuation : nil
        case .proceed, .append, .follow, .deliver, .giveUp, .fail: return continuation
        }
    }

    /// What a response means whose redirect or challenge is not followed; `nil` where it is the result. A question about an
    /// upload has no result but the upload's.
    func decision(onResult head: ResponseHead) -> ResponseDecision? {
        guard outgoing.history.isResumedUpload, let continuation = continuation(after: head) else { return nil }
        if case .follow = continuation.step { return .fail(.upload(.refused(status: head.status))) }
        return continuation.isOrdinary ? nil : .continueUpload(continuation)
    }

    /// Takes an interim response, which may offer an upload resource, or acknowledge what it has.
    func receiveInterim(_ head: ResponseHead) {
        let wasBegun = upload.isBegun
        if let step = upload.receiveInterim(head, to: outgoing.request) {
            take(step)
        } else if upload.isBegun, !wasBegun {
            transfer.journalUpload()
        }
    }

    /// The response is not the end of the upload.
    func take(_ continuation: ResumableUpload.Continuation, after response: ReceivedResponse) {
        upload.take(continuation, after: response)
    }

    /// The failure of a request is not the end of the upload: it asks how much has arrived, or starts over. False when it
    /// is.
    func continues(after failure: TransferFailure) -> Bool {
        if let change = failure.changeOfFile { return restarts(because: change) }
        guard failure.isUnreachability, canSendRest, let step = upload.stepAfterCut() else { return false }
        calls.reportInterruption(failure.urlError(for: outgoing.request.url))
        take(step)
        return true
    }

    private func restarts(because change: BodyFailure) -> Bool {
        guard let next = upload.restart() else { return false }
        calls.reportRestart(TransferFailure.body(change).urlError(for: outgoing.request.url))
        begin(next)
        return true
    }

    /// Ends the current request, if it has not ended, and takes a step.
    func take(_ step: UploadStep) {
        if case .fail(let fault) = step { return transaction.fail(.upload(fault)) }
        guard let next = upload.next(for: step) else { return }
        begin(next)
    }

    private func begin(_ next: ResumableUpload.Next) {
        transaction.abandon()
        calls.currentMetrics?.markEnd()
        let history = (next.history ?? outgoing.history(before: next.request))
            .uploading(next.body, next.purpose)
        var request = next.request
        // Credentials do not return from another origin.
        if history.hasLeftOrigin { Redirect.removeCredentials(from: &request) }
        transfer.load(request, history, after: next.delay)
        transfer.journalUpload()
    }
}
