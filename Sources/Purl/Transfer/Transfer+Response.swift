import Foundation
internal import PurlHTTP
internal import PurlIO

/// What a transfer does with what the server says.
extension Transfer {
    // MARK: ExchangeClient

    func exchangeMadeProgress(_ source: any ResponseSource) {
        markProgress()
    }

    func exchange(_ source: any ResponseSource, didSendBodyBytes count: Int) {
        markProgress()
        reportSent(Int64(count))
    }

    func exchange(_ source: any ResponseSource, didReceiveInterim head: ResponseHead) {
        guard hearsOfTask, let url = request.url else { return }
        reportInterim(HTTPURLResponse(url: url, head: head))
    }

    func exchange(_ source: any ResponseSource, didReceive head: ResponseHead, framing: BodyFraming) {
        guard let url = request.url else { return }
        let answer = Answer(response: note(head, from: url), head: head, framing: framing, source: source)
        let challenger = challenger(of: head)
        concludeAuthentication(head, asking: challenger)
        if let challenger { return reply(to: challenger, answer) }
        invalidateCache(head)
        if !cacheTakes(answer) { take(answer) }
    }

    /// Takes the cookies of a response, and makes it one for users.
    func note(_ head: ResponseHead, from url: URL) -> HTTPURLResponse {
        if request.httpShouldHandleCookies, head.status != 407 {
            session.settings.httpCookieStorage?.take(
                head.fields, from: url, mainDocumentURL: request.mainDocumentURL,
                policy: session.settings.httpCookieAcceptPolicy)
        }
        let response = HTTPURLResponse(url: url, head: head)
        metrics?.current.noteResponse(response)
        return response
    }

    /// Follows a redirect, or takes the response as the result.
    func take(_ answer: Answer) {
        guard let url = request.url else { return }
        if let next = requestWithoutExpectation(after: answer.head) { return follow(next, after: answer) }
        do throws(TransferFailure) {
            if let next = try Redirect.next(after: request, at: url, answeredBy: answer.head) {
                redirects += 1
                guard redirects <= Redirect.limit else { throw .tooManyRedirects }
                decideRedirect(answer, next)
            } else {
                try accept(answer)
            }
        } catch {
            fail(error)
        }
    }

    func exchange(_ source: any ResponseSource, didReceive bytes: UnsafeRawBufferPointer) {
        if coded == nil {
            consume(bytes)
        } else {
            coded?.take(bytes)
            decode()
        }
    }

    /// Hands on the content of a coded body for as long as it is taken, and ends with its last byte. A few coded bytes
    /// can be much content, so after some of it other transfers have their turn.
    func decode() {
        guard coded != nil else { return }
        var portions = 0
        while holds.isDisjoint(with: [.full, .deciding, .decoding]) {
            switch phase {
            case .exchanging, .decoding: break
            case .parked, .preparing, .leasing, .waiting, .ending, .concluded: return
            }
            do throws(DecodeError) {
                guard let content = try coded?.next() else {
                    if case .decoding = phase { bodyEnded() }
                    return
                }
                content.withUnsafeBytes { consume($0) }
            } catch {
                return fail(.coding(error))
            }
            portions += 1
            if portions == 8 { decodeLater() }
        }
    }

    private func decodeLater() {
        hold(.decoding)
        NetworkActor.post { [weak self] in
            self?.holds.remove(.decoding)
            self?.updateFlow()
        }
    }

    private func consume(_ bytes: UnsafeRawBufferPointer) {
        switch destination {
        case .nowhere:
            visit?.take(bytes)
            return
        case .memory:
            collect(bytes)
        case .delegate(let mailbox):
            visit?.take(bytes)
            let receipt = mailbox.put(bytes)
            if receipt.wakesConsumer { deliverData(from: mailbox) }
            if receipt.isFull { hold(.full) }
        case .stream(let stream):
            if stream.put(bytes) { hold(.full) }
        case .sink(let writer):
            if let total, received + Int64(bytes.count) > total { return fail(.surplus(total: total)) }
            if writer.put(bytes) { hold(.full) }
        }
        received += Int64(bytes.count)
        metrics?.current.noteContent(bytes.count)
        task.updateCounts { $0.received = received }
    }

    private func collect(_ bytes: UnsafeRawBufferPointer) {
        if collected.isEmpty, let start = bytes.baseAddress {
            // Most small bodies come in one piece.
            collected = Data(bytes: start, count: bytes.count)
            // A length is the server's word only; more than this is not set aside on its strength.
            if let total, total > collected.count { collected.reserveCapacity(Int(min(total, 1 << 24))) }
        } else {
            collected.append(contentsOf: bytes)
        }
    }

    func exchangeDidFinish(_ source: any ResponseSource) {
        metrics?.current.noteEnd()
        if let next = following {
            following = nil
            offerToCache(isFinal: false)
            return goOn(with: next)
        }
        guard coded != nil else { return bodyEnded() }
        phase = .decoding
        coded?.isWhole = true
        decode()
    }

    /// Everything there is has been handed to the consumer.
    private func bodyEnded() {
        phase = .ending
        offerToCache(isFinal: true)
        guard let writer else { return conclude(.success(())) }
        if case .sink = destination {
            writer.complete { [weak self] result in self?.stored(result) }
        } else {
            // The response was not the resource, so the sink stays as it was.
            writer.stop { [weak self] _ in self?.conclude(.success(())) }
        }
    }

    func exchange(_ source: any ResponseSource, didFailWith failure: ExchangeFailure) {
        phase = .parked
        if let next = following {
            // The response said all it had to say.
            following = nil
            return goOn(with: next)
        }
        if case .closedBeforeResponse = failure, source.isReused, !hasRetried, isIdempotent, canSendBodyAgain {
            // RFC 9112 §9.3.1: the server closed the idle connection just as it was used again.
            hasRetried = true
            return connect()
        }
        fail(.exchange(failure))
    }

    /// RFC 9110 §9.2.2: asking twice means no more than asking once.
    private var isIdempotent: Bool {
        ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(request.httpMethod ?? "GET")
    }

    /// Reads no more until the hold is removed.
    func hold(_ hold: Holds) {
        holds.insert(hold)
        updateFlow()
    }

    // MARK: Redirects

    func decideRedirect(_ answer: Answer, _ next: URLRequest) {
        guard hearsOfTask, let response = answer.response as? HTTPURLResponse else {
            redirectsFollowed += 1
            return follow(next, after: answer)
        }
        hold(.deciding)
        askRedirect(response, next) { [weak self] decision in
            guard let self, self.isStill(with: answer) else { return }
            self.holds.remove(.deciding)
            if let decision {
                self.redirectsFollowed += 1
                self.follow(decision, after: answer)
            } else {
                self.acceptOrFail(answer)
            }
            self.updateFlow()
        }
    }

    /// Whether the exchange that was asked about is still the one of the moment.
    func isStill(with answer: Answer) -> Bool {
        guard case .exchanging(let source) = phase else { return false }
        return source === answer.source
    }

    /// Leaves the response for another request.
    func follow(_ next: URLRequest, after answer: Answer) {
        leave(answer, for: .request(next))
    }

    /// Leaves the response for something else. A short body is read to its end so that the connection stays usable; a
    /// long one is not worth it.
    func leave(_ answer: Answer, for next: Following) {
        let isShort =
            switch answer.framing {
            case .none: true
            case .length(let length): length <= 65_536
            case .chunked, .untilClose: false
            }
        destination = .nowhere
        if isShort {
            following = next
        } else {
            phase = .parked
            answer.source.abandon()
            goOn(with: next)
        }
    }

    private func goOn(with next: Following) {
        switch next {
        case .request(let request): load(request)
        case .stored(let stored, let age): deliver(stored, age: age)
        }
    }

    private func load(_ next: URLRequest) {
        if let old = request.url, let new = next.url, !Redirect.isSameOrigin(old, new) {
            hasLeftOrigin = true
            authentications = authentications.filter { $0.key.role == .proxy }
        }
        if Redirect.replacesBody(of: request, by: next) { upload = nil }
        request = next
        hasRetried = false
        hasConsultedCache = false
        hasAskedProtocols = conversation != nil
        task.shared.withLock { shared in
            shared.currentRequest = next
            shared.sentFields = nil
        }
        connect()
    }

    // MARK: The response

    /// The response is final: decides what becomes of its body, or fails when it may not be taken.
    func acceptOrFail(_ answer: Answer) {
        do throws(TransferFailure) {
            try accept(answer)
        } catch {
            fail(error)
        }
    }

    private func accept(_ answer: Answer) throws(TransferFailure) {
        if conversation != nil { throw refuseConversation(answer) }
        guard let rest else { return try acceptWhole(answer) }
        switch Resumability.judge(answer.head, framing: answer.framing, asked: rest) {
        case .goesOn(let total):
            self.total = total
            publish(answer.response, received: rest.offset, expected: total)
            store(answer, startingOver: false)
        case .startsOver:
            self.rest = nil
            try acceptWhole(answer)
        case .isComplete:
            total = rest.offset
            publish(answer.response, received: rest.offset, expected: rest.offset)
            openStorage(answer, startingOver: false)
            // There is nothing to decide, and the body of a 416 is not the resource.
            completeDiscardingBody(of: answer)
        case .isUnusable:
            // Asked once without a range, the server has no range left to get wrong.
            self.rest = nil
            phase = .parked
            answer.source.abandon()
            connect()
        case .isNotTheResource:
            guard downloadTask == nil else { throw .cannotGoOn(status: answer.head.status) }
            coded = codedBody(of: answer)
            acceptForDelegate(answer)
        }
    }

    private func acceptWhole(_ answer: Answer) throws(TransferFailure) {
        let status = answer.head.status
        let asksForRange = request.value(forHTTPHeaderField: "Range") != nil
        let isStored = writer != nil || downloadTask != nil
        coded = codedBody(of: answer)
        if isStored, status == 206, writer != nil || !asksForRange { throw .unaskedPartialContent }
        total = contentLength(answer.framing)
        if untouched != nil, status != 200 { throw .cannotGoOn(status: status) }
        if downloadTask != nil || (writer != nil && status == 200) {
            publish(answer.response, received: 0, expected: total ?? NSURLSessionTransferSizeUnknown)
            store(answer, startingOver: true)
        } else {
            acceptForDelegate(answer)
        }
    }

    /// What is stored has been decoded already.
    private func codedBody(of answer: Answer) -> CodedBody? {
        answer.source.isRemote ? CodedBody(answer.head) : nil
    }

    /// The length of the content, which is not that of a coded body.
    private func contentLength(_ framing: BodyFraming) -> Int64? {
        guard coded == nil else { return nil }
        return switch framing {
        case .none: 0
        case .length(let length): length
        case .chunked, .untilClose: nil
        }
    }

    /// The body goes to the delegate, or into memory for a handler.
    private func acceptForDelegate(_ answer: Answer) {
        let length = contentLength(answer.framing)
        publish(answer.response, received: 0, expected: length ?? NSURLSessionTransferSizeUnknown)
        switch task.audience {
        case .delegate:
            destination = .delegate(
                ByteMailbox(
                    limit: session.settings.maximumBufferedBytesPerTask, gathers: !task.prefersIncrementalDelivery))
            askDisposition(answer)
        case .stream(let stream):
            stream.open(for: answer.response) { [weak self] in
                NetworkActor.post {
                    self?.holds.remove(.full)
                    self?.updateFlow()
                }
            }
            destination = .stream(stream)
        case .data, .file:
            destination = .memory
        }
    }

    func publish(_ response: URLResponse, received: Int64, expected: Int64) {
        self.received = received
        task.update { shared in
            shared.response = response
            shared.counts.received = received
            shared.counts.expectedToReceive = expected
        }
    }

    private func store(_ answer: Answer, startingOver: Bool) {
        guard downloadTask == nil else { return openStorage(answer, startingOver: startingOver) }
        // What the sink holds is not touched before the delegate has said that it wants the response.
        storesFromStart = startingOver
        if hearsOfData { askDisposition(answer) } else { allow(answer) }
    }

    private func completeDiscardingBody(of answer: Answer) {
        phase = .ending
        answer.source.abandon()
        writer?.complete { [weak self] result in self?.stored(result) }
    }

    // MARK: Disposition

    /// Asks the delegate what to do; the body stays where it comes from until it has answered.
    private func askDisposition(_ answer: Answer) {
        guard hearsOfData else { return }
        hold(.deciding)
        askDelegate(answer.response) { [weak self] disposition in
            guard let self, self.isStill(with: answer) else { return }
            self.holds.remove(.deciding)
            switch disposition {
            case .allow:
                self.allow(answer)
            case .cancel:
                self.fail(.cancelled)
            case .becomeDownload:
                self.becomeDownload(answer)
            case .becomeStream:
                self.becomeStream(answer)
            }
        }
    }

    func allow(_ answer: Answer) {
        if let startingOver = storesFromStart {
            storesFromStart = nil
            openStorage(answer, startingOver: startingOver)
        }
        updateFlow()
    }

    /// Another task takes the place of this one. True when either has been cancelled.
    func goOn(as new: URLSessionTask) -> Bool {
        let old = task
        let isCancelled = old.hand(over: new)
        task = new
        visit = nil
        new.transfer = self
        old.transfer = nil
        old.isConcluded = true
        return isCancelled
    }

    /// Another task may take the place of this one. One that writes to a sink has its place already, and an error page
    /// must not get there either.
    var mayBecomeAnother: Bool {
        guard writer == nil, case .delegate = destination, case .delegate = task.audience else { return false }
        return true
    }

    /// Goes on with the same response under a new task.
    private func becomeDownload(_ answer: Answer) {
        guard mayBecomeAnother else { return allow(answer) }
        let old = task
        let new = session.makeDownloadTask(inPlaceOf: old)
        let isCancelled = goOn(as: new)
        if !isUpload { session.enterIntoJournal(new, nil) }
        announce(inPlaceOf: old) { $0.urlSession($1, dataTask: $2, didBecome: new) }
        guard !isCancelled else { return fail(.cancelled) }
        storesFromStart = true
        allow(answer)
    }
}
