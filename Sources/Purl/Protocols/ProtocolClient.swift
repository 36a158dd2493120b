import Foundation
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// Takes what a protocol says, from any thread, to the transfer it loads for. What comes after the end is ignored.
final class ProtocolClient: NSObject, URLProtocolClient, Sendable {
    private enum State {
        case begun
        /// There was a response.
        case answered
        case over
    }

    private let state = Mutex(State.begun)
    private let exchange: LocalExchange
    private let load: ProtocolLoad
    private let request: URLRequest

    init(_ exchange: LocalExchange, _ load: ProtocolLoad, _ request: URLRequest) {
        self.exchange = exchange
        self.load = load
        self.request = request
    }

    /// Nobody wants to hear more.
    func close() {
        state.withLock { $0 = .over }
        load.perform { $0.stop() }
    }

    // MARK: URLProtocolClient

    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
        say { state in
            guard case .begun = state else { return }
            state = .answered
            push(answer(response))
        }
    }

    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
        let (response, data) = (cachedResponse.response, cachedResponse.data)
        say { state in
            guard case .begun = state else { return }
            state = .answered
            push(answer(response))
            if !data.isEmpty { push(.content(data)) }
        }
    }

    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data) {
        guard !data.isEmpty else { return }
        say { state in
            answerIfNeeded(&state)
            push(.content(data))
        }
    }

    func urlProtocolDidFinishLoading(_ protocol: URLProtocol) {
        end { state in
            answerIfNeeded(&state)
            push(.end)
        }
    }

    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error) {
        end { _ in push(.failure(.ofProtocol(error))) }
    }

    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse) {
        end { state in
            guard case .begun = state else { return push(.end) }
            push(.redirect(redirectResponse, ResponseHead(of: redirectResponse), request))
            // Whoever does not follow has the redirect as the result.
            push(.end)
        }
    }

    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        let load = load
        say { _ in
            push(
                .challenge(challenge) { disposition, credential in
                    load.perform { _ in challenge.answer(disposition, credential) }
                })
        }
    }

    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
        // Its sender hears the delegate's answer all the same, and knows that it is of no use any more.
    }

    // MARK: Handing on

    /// Calls of several threads stay in the order in which they were let through.
    private func say(_ call: (inout State) -> Void) {
        state.withLock { state in
            if case .over = state { return }
            call(&state)
        }
    }

    private func end(_ call: (inout State) -> Void) {
        say { state in
            call(&state)
            state = .over
            load.perform { $0.stop() }
        }
    }

    private func push(_ piece: LocalExchange.Piece) {
        NetworkActor.post { [exchange] in exchange.push(piece) }
    }

    /// Content without a response gets one that says nothing.
    private func answerIfNeeded(_ state: inout State) {
        guard case .begun = state else { return }
        state = .answered
        let url = request.url ?? URL(fileURLWithPath: "/")
        push(answer(URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)))
    }

    private func answer(_ response: URLResponse) -> LocalExchange.Piece {
        let head = ResponseHead(of: response)
        let framing = BodyFraming.ofLocal(head, to: request.httpMethod ?? "GET")
        return .answer(response, head, framing, mayRedirect: false)
    }
}

extension URLAuthenticationChallenge {
    /// Gives a delegate's answer to whoever asked.
    fileprivate func answer(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?) {
        switch (disposition, credential) {
        case (.useCredential, let credential?): sender?.use(credential, for: self)
        case (.useCredential, nil): sender?.continueWithoutCredential(for: self)
        case (.performDefaultHandling, _): sender?.performDefaultHandling(for: self)
        case (.cancelAuthenticationChallenge, _): sender?.cancel(self)
        case (.rejectProtectionSpace, _): sender?.rejectProtectionSpaceAndContinue(with: self)
        }
    }
}
