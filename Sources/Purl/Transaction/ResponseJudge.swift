import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// Finds out what a response means for its transaction, and lets that be carried out.
///
/// ``ResponseDecision`` is the rule. This gathers what it takes into account, and lets those learn from the response who
/// have a part in it: the authenticator, the cache, and an upload.
@NetworkActor
struct ResponseJudge {
    private let transaction: Transaction
    private let transfer: Transfer

    init(of transaction: Transaction, for transfer: Transfer) {
        self.transaction = transaction
        self.transfer = transfer
    }

    private var outgoing: OutgoingRequest { transaction.outgoing }
    private var calls: DelegateCalls { transfer.calls }
    private var maximumRedirects: Int { max(0, transfer.session.settings.limits.redirects) }

    /// A response from a server, or a proxy.
    func decide(_ response: ReceivedResponse) {
        let head = response.head
        let request = outgoing.request
        var circumstances = circumstances(of: .server)
        // Only then does it matter, and finding out takes a while.
        if head.status == 417 { circumstances.canSendBodyAgain = outgoing.bodyPreparer.canPrepareAgain }
        let peer = ResponseDecision.challenger(of: head, to: request, through: circumstances.proxy)
        outgoing.concludeAuthentication(head, asking: peer)
        if peer == nil {
            CacheLoader.invalidate(head, to: request, in: transfer.session)
            if let cache = transaction.cacheTransaction { circumstances.cache = cache.judge(head) }
            calls.trace?.cache(circumstances.cache)
            circumstances.upload = transaction.upload?.continuation(after: head)
        }
        let decision = ResponseDecision(head, framing: response.framing, in: circumstances)
        if decision.isOfferedToCache { transaction.cacheTransaction?.collect(response) }
        carryOut(decision, on: response)
    }

    /// A proxy has not opened a tunnel. It may want credentials; it does not speak for the server.
    func decideOnTunnel(_ response: ReceivedResponse) {
        if response.head.status == 407 { return decide(response) }
        outgoing.concludeAuthentication(response.head, asking: nil)
        guard let refusal = transaction.refusal else { return }
        carryOut(.fail(refusal(response.head.status)), on: response)
    }

    /// A response from this process.
    func decide(_ response: ReceivedResponse, from provenance: ResponseDecision.Provenance) {
        switch provenance {
        case .server: break
        case .cache: calls.collectMetrics(ofLocal: response.response, to: outgoing.request, from: .localCache)
        case .local: calls.collectMetrics(ofLocal: response.response, to: outgoing.request, from: .unknown)
        case .userProtocol(let policy):
            calls.collectMetrics(ofLocal: response.response, to: outgoing.request, from: .unknown)
            transaction.use(CacheLoader(transfer: transfer, trustsStored: false).collecting(response, policy))
        }
        let circumstances = circumstances(of: provenance)
        carryOut(ResponseDecision(response.head, framing: response.framing, in: circumstances), on: response)
    }

    /// A protocol's response redirects to another request.
    func decide(_ response: ReceivedResponse, redirectingTo next: URLRequest) {
        guard outgoing.history.redirects < maximumRedirects else {
            return transfer.fail(.tooManyRedirects(limit: maximumRedirects))
        }
        carryOut(.redirect(next), on: response)
    }

    /// A protocol asks the delegate for credentials.
    func ask(
        _ challenge: URLAuthenticationChallenge, from source: LocalExchange,
        answer: @escaping DelegateCalls.ChallengeAnswer
    ) {
        guard calls.hasTaskDelegate else { return answer(.performDefaultHandling, nil) }
        transfer.hold(.deciding)
        calls.ask(challenge) { [weak transaction, weak transfer] disposition, credential in
            guard let transaction, let transfer, transaction.isExchanging(with: source) else { return }
            transfer.continueAfterDecision {
                answer(disposition, credential)
                if disposition == .cancelAuthenticationChallenge { transfer.fail(.authenticationCancelled) }
            }
        }
    }

    /// What a response means that is the result, though it redirects or asks for credentials.
    func decisionAsResult(_ response: ReceivedResponse) -> ResponseDecision {
        transaction.upload?.decision(onResult: response.head)
            ?? ResponseDecision.result(response.head, response.framing, circumstances(of: .local))
    }

    private func carryOut(_ decision: ResponseDecision, on response: ReceivedResponse) {
        ResponseHandler(response, to: transaction, of: transfer).carryOut(decision)
    }

    private func circumstances(of provenance: ResponseDecision.Provenance) -> ResponseDecision.Circumstances {
        ResponseDecision.Circumstances(
            request: outgoing.request, additionalFields: transfer.session.settings.additionalFields,
            provenance: provenance, proxy: outgoing.route.challenger,
            mayExpect: outgoing.history.mayExpect, redirects: outgoing.history.redirects,
            maximumRedirects: maximumRedirects,
            storage: transfer.storageState, refusal: transaction.refusal)
    }
}
