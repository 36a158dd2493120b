import Foundation
internal import PurlHTTP
internal import PurlIO

/// Carries out the decision about one response: asks the delegate where there is a question for it, and lets the body be
/// received, or another request follow.
///
/// While a question is open the transaction receives nothing. What is left of a response that redirects, or asks for
/// credentials, is set aside meanwhile. An answer that comes when the response is no longer the current one has no effect.
@NetworkActor
struct ResponseHandler {
    private let response: ReceivedResponse
    private let transaction: Transaction
    private let transfer: Transfer

    init(_ response: ReceivedResponse, to transaction: Transaction, of transfer: Transfer) {
        self.response = response
        self.transaction = transaction
        self.transfer = transfer
    }

    private var calls: DelegateCalls { transfer.calls }
    private var task: URLSessionTask { transfer.calls.task }
    private var succession: Succession { Succession(after: response, to: transaction, calls) }
    // Not `isBackground`, which would copy all settings to be computed.
    private var isInBackground: Bool { transfer.session.settings.identifier != nil }

    func carryOut(_ decision: ResponseDecision) {
        switch decision {
        case .sendWithoutExpectation:
            succession.sendWithoutExpectation()
        case .authenticate(let peer):
            authenticate(to: peer)
        case .useStored(let stored, let age, let isConfirmed):
            succession.deliver(stored, age: age, isConfirmed: isConfirmed)
        case .sendWithoutConditions:
            succession.sendWithoutConditions()
        case .redirect(let next):
            redirect(to: next)
        case .append(let part):
            append(part)
        case .replace:
            replace()
        case .complete:
            complete()
        case .requestRestOfSame:
            // On condition that it is of the version there is.
            transfer.storage?.requireMatch()
            transaction.sendAgain(.restOfSameVersion)
        case .requestRestWithOverlap:
            transfer.storage?.requireOverlap()
            transaction.sendAgain(.restOfSameVersion)
        case .requestWhole:
            // Without a range in the request the server cannot send a wrong one.
            transfer.storage?.forgetPoint()
            transaction.sendAgain(.wholeResource)
        case .continueUpload(let continuation):
            succession.continueUpload(with: continuation)
        case .deliver:
            deliver()
        case .fail(let failure):
            if case .webSocket = failure { publish(received: 0, expected: NSURLSessionTransferSizeUnknown) }
            transfer.fail(failure)
        }
    }

    /// The response is the result, though it redirects or asks for credentials.
    private func accept() {
        carryOut(transaction.judge.decisionAsResult(response))
    }

    /// Returns this handler when the delegate answers, if the response is still the current one. A delegate that keeps a
    /// question open keeps neither the transaction nor its transfer.
    private var later: @Sendable @NetworkActor () -> ResponseHandler? {
        { [response, weak transaction, weak transfer] in
            guard let transaction, let transfer, transaction.isExchanging(with: response.source) else { return nil }
            return ResponseHandler(response, to: transaction, of: transfer)
        }
    }

    /// Holds the transfer for a question about a response that is set aside.
    private func holdAside() -> @Sendable @NetworkActor () -> ResponseHandler? {
        transfer.hold(.deciding)
        return ResponseHandler(transaction.setAside(response), to: transaction, of: transfer).later
    }

    /// Lets an answer take effect, and then bytes be read again.
    private func resolve(_ effect: () -> Void) {
        transfer.continueAfterDecision(effect)
    }

    private func publish(received: Int64, expected: Int64) {
        task.setResponse(response.response, received: received, expected: expected)
    }

    // MARK: Redirects

    /// Asks the delegate whether the redirect is followed; without one, and in a background session, it is.
    private func redirect(to next: URLRequest) {
        guard !isInBackground, calls.hasTaskDelegate, let http = response.response as? HTTPURLResponse else {
            return succession.redirect(to: next)
        }
        let later = holdAside()
        calls.askAboutRedirect(http, next) { decision in
            later()?.take(decision)
        }
    }

    private func take(_ decision: URLRequest?) {
        resolve {
            if let decision {
                succession.redirect(to: decision)
            } else {
                accept()
            }
        }
    }

    // MARK: Challenges

    /// Sends the request again with credentials that are known, asks the delegate for some, or takes the response as the
    /// result.
    private func authenticate(to peer: AuthenticationPeer) {
        let offers = SupportedChallenge.all(in: response.head.fields, from: peer)
        calls.trace?.challenge(from: peer, offers)
        guard let storage = transfer.session.settings.urlCredentialStorage else {
            return authenticate(to: peer, offers, Authenticator.StoredCredentials())
        }
        guard storage.isSubclass else {
            return authenticate(to: peer, offers, Authenticator.StoredCredentials(for: offers, in: storage))
        }
        transfer.hold(.deciding)
        Worker.shared.run(on: .userCode) {
            Authenticator.StoredCredentials(for: offers, in: storage)
        } then: { [later] stored in
            guard let handler = later() else { return }
            handler.resolve { handler.authenticate(to: peer, offers, stored) }
        }
    }

    private func authenticate(
        to peer: AuthenticationPeer, _ offers: [SupportedChallenge], _ stored: Authenticator.StoredCredentials
    ) {
        switch transaction.outgoing.step(afterChallengeFrom: peer, offers, stored) {
        case .decline: accept()
        case .resend(let login): succession.authenticate(login, to: peer)
        case .ask(let offers): ask(offers, from: peer)
        }
    }

    /// Asks the delegate about one scheme after another until it decides.
    private func ask(_ offers: [SupportedChallenge], from peer: AuthenticationPeer) {
        guard let offer = offers.first, calls.hasTaskDelegate else { return accept() }
        let round = transaction.outgoing.authenticationRound(with: peer)
        let later = holdAside()
        calls.askForCredential(
            offer.space, refused: round.lastRefused, failures: round.failureCount, response.response
        ) { disposition, credential in
            later()?.take(disposition, credential, for: offer, others: offers.dropFirst(), from: peer)
        }
    }

    /// - Parameter others: What the delegate has not been asked about yet.
    private func take(
        _ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?,
        for offer: SupportedChallenge, others: ArraySlice<SupportedChallenge>, from peer: AuthenticationPeer
    ) {
        resolve {
            switch disposition {
            case .useCredential:
                use(credential, offer, from: peer)
            case .performDefaultHandling:
                // What can be done without asking has been done.
                accept()
            case .cancelAuthenticationChallenge:
                transfer.fail(.authenticationCancelled)
            case .rejectProtectionSpace:
                transaction.outgoing.reject(offer.space, of: peer)
                ask(Array(others), from: peer)
            }
        }
    }

    private func use(_ credential: URLCredential?, _ offer: SupportedChallenge, from peer: AuthenticationPeer) {
        guard let credential, transaction.outgoing.authenticationRound(with: peer).mayTry(credential),
            let login = Login(offer, from: peer, credential, .delegate, at: transaction.outgoing.originForm)
        else { return accept() }
        succession.authenticate(login, to: peer)
    }

    // MARK: Destinations

    /// The body goes to the delegate or the handler.
    private func deliver() {
        let coding = response.coding
        let length = response.contentLength(isCoded: coding != nil)
        publish(received: 0, expected: length ?? NSURLSessionTransferSizeUnknown)
        transfer.receive(
            BodyReceiver(
                destination, of: transfer, upTo: length, coding: coding, cache: transaction.cacheTransaction))
        if calls.hasDataDelegate, !(isInBackground && task is URLSessionUploadTask) { askDisposition { _ in } }
    }

    private var destination: BodyReceiver.Destination {
        switch task.consumer {
        case .delegate:
            return .delegate(mailbox)
        case .bytes(let stream):
            stream.open(for: response.response) { [weak transfer] in
                NetworkActor.post { transfer?.release(.full) }
            }
            return .bytes(stream)
        case .data, .file:
            return .memory(copy: calls.hasDataDelegate ? mailbox : nil)
        }
    }

    private var mailbox: ByteMailbox {
        return ByteMailbox(
            limit: transfer.session.settings.limits.bufferedBytesPerTask, gathers: !task.prefersIncrementalDelivery)
    }

    /// The body is the rest of what the storage holds, or a part of it. The delegate has accepted the first part; those that
    /// follow are not reported to it.
    private func append(_ part: ResumedPart) {
        guard let storage = transfer.storage, let offset = storage.point?.offset else { return }
        guard !storage.hasBegun else { return receiveIntoStorage(.part(part, at: offset)) }
        publish(received: offset, expected: part.total)
        store(.part(part, at: offset))
    }

    /// The body replaces what the storage holds.
    private func replace() {
        transfer.storage?.forgetPoint()
        let total = response.contentLength(isCoded: response.coding != nil)
        publish(received: 0, expected: total ?? NSURLSessionTransferSizeUnknown)
        store(.whole(length: total))
    }

    /// The body goes into the storage. What a sink holds is not touched before the delegate has accepted the response.
    private func store(_ content: BodyStorage.ArrivingContent) {
        if calls.downloadTask == nil, calls.hasDataDelegate {
            askDisposition { $0.receiveIntoStorage(content) }
        } else {
            receiveIntoStorage(content)
        }
    }

    private func receiveIntoStorage(_ content: BodyStorage.ArrivingContent) {
        guard let storage = transfer.storage else { return }
        storage.begin(response, content, to: transaction.request)
        let coding = content.isWhole ? response.coding : nil
        transfer.receive(
            BodyReceiver(
                .storage(storage), of: transfer, from: content.offset, skipping: content.overlap, upTo: content.end,
                coding: coding))
        if coding == nil, content.overlap == 0 { storage.movePlainContent(of: response) }
    }

    /// The storage holds all of the resource; the body of a 416 is not the resource.
    private func complete() {
        guard let storage = transfer.storage, let offset = storage.point?.offset else { return }
        publish(received: offset, expected: offset)
        let nothing = ResumedPart(end: offset, total: offset)
        storage.begin(response, .part(nothing, at: offset), to: transaction.request)
        transaction.abandonRest(of: response)
        transfer.storageIsComplete()
    }

    // MARK: Disposition

    /// Asks the delegate what to do with the response.
    ///
    /// - Parameter allow: What to do when the delegate allows it.
    private func askDisposition(_ allow: @escaping @Sendable @NetworkActor (ResponseHandler) -> Void) {
        transfer.hold(.deciding)
        calls.askAboutResponse(response.response) { [later] disposition in
            later()?.take(disposition, allow)
        }
    }

    private func take(
        _ disposition: URLSession.ResponseDisposition, _ allow: @Sendable @NetworkActor (ResponseHandler) -> Void
    ) {
        resolve {
            switch disposition {
            case .allow: allow(self)
            case .cancel: transfer.fail(.cancelled)
            case .becomeDownload: mayBecomeAnotherTask ? becomeDownload() : allow(self)
            case .becomeStream: mayBecomeAnotherTask ? becomeStream() : allow(self)
            }
        }
    }

    /// Whether another task may take the task's place. Not of one that writes to a sink: another task would
    /// write somewhere else, and an error page must not get into the sink either.
    private var mayBecomeAnotherTask: Bool {
        guard transfer.storage == nil, case .delegate = task.consumer else { return false }
        return true
    }

    /// A download task continues with the response.
    private func becomeDownload() {
        transaction.use(nil)
        guard transfer.becomeDownload() else { return transfer.fail(.cancelled) }
        receiveIntoStorage(.whole(length: response.contentLength(isCoded: response.coding != nil)))
    }

    /// A stream task continues with the response's connection.
    private func becomeStream() {
        guard let (transport, surplus) = transaction.surrender(response) else {
            return transfer.fail(.stream(.noConnection))
        }
        let stream = StreamConversation(transaction.request, transfer.session.settings)
        guard transfer.becomeStream(stream) else {
            transport.close()
            return transfer.fail(.cancelled)
        }
        transaction.open(stream, over: transport, received: surplus)
    }
}
