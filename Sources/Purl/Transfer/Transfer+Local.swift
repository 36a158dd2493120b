import Foundation
internal import PurlHTTP
internal import PurlIO

/// How a transfer loads what no server answers: `data:` URLs, and requests that a protocol of the user's own takes.
extension Transfer {
    // MARK: Protocols

    /// Asks the session's protocols who wants the request of the moment, then goes on with `connect`, or lets it load.
    func askProtocols(_ classes: [URLProtocol.Type], _ body: OutgoingBody) {
        phase = .preparing
        let shown = requestForProtocols(body)
        task.shared.withLock { $0.currentRequest = shown }
        let load = ProtocolLoad(task)
        load.perform { [weak self] load in
            let choice = load.choose(from: classes, shown)
            NetworkActor.post { self?.decided(choice, load.self, body) }
        }
    }

    private func decided(_ choice: ProtocolLoad.Choice?, _ load: ProtocolLoad, _ body: OutgoingBody) {
        guard case .preparing = phase else { return }
        guard let choice else {
            hasAskedProtocols = true
            task.shared.withLock { [request] in $0.currentRequest = request }
            return connect()
        }
        guard !holds.contains(.suspended) else {
            phase = .parked
            return
        }
        outgoing = nil
        if case .stream(let stream, _) = body { stream.take() }
        task.shared.withLock { $0.currentRequest = choice.request }
        let exchange = LocalExchange(for: self)
        let client = ProtocolClient(exchange, load, choice.request)
        exchange.whenAbandoned = { client.close() }
        begin(exchange)
        let cache = session.settings.urlCache
        load.perform { load in
            load.start(choice.type, cachedResponse: cache?.cachedResponse(for: choice.request), client: client)
        }
    }

    /// The request of the moment as it would be sent, its body included.
    private func requestForProtocols(_ body: OutgoingBody) -> URLRequest {
        var shown = request
        switch body {
        case .none: break
        case .data(let data): shown.httpBody = data
        case .file(let file): shown.httpBodyStream = InputStream(url: file.url)
        case .stream(let stream, _): shown.httpBodyStream = stream.stream
        }
        for (name, value) in session.settings.httpAdditionalHeaders where shown.value(forHTTPHeaderField: name) == nil {
            if !hasLeftOrigin || !Redirect.isCredential(name) { shown.setValue(value, forHTTPHeaderField: name) }
        }
        if writer != nil {
            shown.setValue(rest.map { "bytes=\($0.offset)-" }, forHTTPHeaderField: "Range")
            shown.setValue(rest?.validator, forHTTPHeaderField: "If-Range")
        }
        return shown
    }

    /// A protocol was told to load something else.
    func redirect(_ answer: Answer, to next: URLRequest) {
        redirects += 1
        guard redirects <= Redirect.limit else { return fail(.tooManyRedirects) }
        decideRedirect(answer, next)
    }

    /// A protocol was asked who is there, and asks the delegate.
    func pass(
        on challenge: URLAuthenticationChallenge, from source: LocalExchange, _ answer: @escaping ChallengeAnswer
    ) {
        guard hearsOfTask else { return answer(.performDefaultHandling, nil) }
        hold(.deciding)
        askDelegate(challenge) { [weak self] disposition, credential in
            guard let self, case .exchanging(let current) = self.phase, current === source else { return }
            self.holds.remove(.deciding)
            answer(disposition, credential)
            if disposition == .cancelAuthenticationChallenge { return self.fail(.authenticationCancelled) }
            self.updateFlow()
        }
    }

    // MARK: data: URLs

    /// A server that redirects does not get to write the response itself.
    var loadsDataURL: Bool {
        guard redirects == 0, let url = request.url else { return false }
        return DataURL.isOne(url)
    }

    func loadDataURL() {
        guard let url = request.url else { return }
        phase = .preparing
        outgoing = nil
        DispatchQueue.global().async { [weak self] in
            let result = Result { () throws(DataURL.Fault) in try DataURL(url) }
            NetworkActor.post { self?.decoded(result) }
        }
    }

    private func decoded(_ result: Result<DataURL, DataURL.Fault>) {
        guard case .preparing = phase else { return }
        switch result {
        case .failure(let fault):
            fail(.dataURL(fault))
        case .success(let loaded):
            let head = ResponseHead(of: loaded.response)
            answer(
                with: loaded.response, head, .ofLocal(head, to: "GET"), content: loaded.content, mayRedirect: false)
        }
    }

    // MARK: Answers from here

    /// The whole response is at hand.
    func answer(
        with response: URLResponse, _ head: ResponseHead, _ framing: BodyFraming, content: Data, mayRedirect: Bool
    ) {
        let exchange = LocalExchange(for: self)
        begin(exchange)
        exchange.push(.answer(response, head, framing, mayRedirect: mayRedirect))
        exchange.push(.content(content))
        exchange.push(.end)
    }

    private func begin(_ exchange: LocalExchange) {
        // What an earlier request of the transfer meant to store is not in this response.
        visit = nil
        phase = .exchanging(exchange)
        watchProgress()
        exchange.isPaused = !holds.isEmpty
    }
}
