import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// Loads a transaction's request without the network, or instead of it.
@NetworkActor
protocol TransactionLoader {
    /// True when it loads the request, fails the transaction, or will let it continue later; false when the next loader, or
    /// the network, is to load the request.
    func loads(_ transaction: Transaction) -> Bool
}

/// A response that is created in this process, delivered no faster than it is taken.
///
/// A loader pushes a response, its content and the end; what is pushed while the transaction is paused waits here. One that
/// has to fetch its content, from a file for instance, does so when it is asked for more.
@NetworkActor
final class LocalExchange: ResponseSource {
    /// A part of the response, in the order of the cases.
    enum Piece {
        case response(URLResponse, ResponseHead, BodyFraming, ResponseDecision.Provenance)
        /// Another request is to be loaded; if the delegate does not want that, the response is the result.
        case redirect(URLResponse, ResponseHead, URLRequest)
        /// The delegate is asked for credentials.
        case challenge(URLAuthenticationChallenge, answer: DelegateCalls.ChallengeAnswer)
        /// Content, without any coding.
        case content(Data)
        case end
        case failure(TransferFailure)
    }

    /// No more content at a time than a connection delivers, so that a slow consumer pauses it.
    private static let portion = 65_536

    private weak var transaction: Transaction?
    private var pieces = Queue<Piece>()
    private var isDelivering = false
    private var isHeld = false
    private var abandonment: (() -> Void)?
    private var demand: (() -> Void)?

    init(for transaction: Transaction) {
        self.transaction = transaction
    }

    var isRemote: Bool { false }
    var isReused: Bool { false }
    var mayBeIdle: Bool { false }

    var isPaused: Bool {
        get { isHeld }
        set {
            isHeld = newValue
            deliver()
        }
    }

    /// Calls `action` once, if the transaction abandons the exchange.
    func onAbandon(_ action: @escaping () -> Void) {
        abandonment = action
    }

    /// Calls `action` whenever all that was pushed has been delivered, and more would be. It may be called again before
    /// anything has been pushed.
    func onDemand(_ action: @escaping () -> Void) {
        demand = action
        deliver()
    }

    func push(_ piece: Piece) {
        guard transaction != nil else { return }
        if case .content(var rest) = piece {
            while !rest.isEmpty {
                pieces.append(.content(rest.prefix(Self.portion)))
                rest = rest.dropFirst(Self.portion)
            }
        } else {
            pieces.append(piece)
        }
        deliver()
    }

    func abandon() {
        transaction = nil
        pieces = Queue()
        demand = nil
        let action = abandonment
        abandonment = nil
        action?()
    }

    private func deliver() {
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while !isPaused, let transaction, let piece = pieces.first {
            pieces.removeFirst()
            switch piece {
            case .response(let response, let head, let framing, let provenance):
                transaction.judge.decide(
                    ReceivedResponse(response: response, head: head, framing: framing, source: self), from: provenance)
            case .redirect(let response, let head, let next):
                // None of its body is awaited.
                transaction.judge.decide(
                    ReceivedResponse(response: response, head: head, framing: .untilClose, source: self),
                    redirectingTo: next)
            case .challenge(let challenge, let answer):
                transaction.judge.ask(challenge, from: self, answer: answer)
            case .content(let data):
                transaction.exchangeMadeProgress(self)
                data.withUnsafeBytes { transaction.exchange(self, didReceive: $0) }
            case .end:
                releaseTransaction()
                transaction.exchangeDidFinish(self)
            case .failure(let failure):
                releaseTransaction()
                transaction.fail(failure)
            }
        }
        if !isPaused, transaction != nil { demand?() }
    }

    /// All of it is delivered. The loader keeps this exchange, which must not keep the loader.
    private func releaseTransaction() {
        transaction = nil
        abandonment = nil
        demand = nil
    }
}

extension ResponseHead {
    /// What the rules go by for a response that was made in this process. One that is not HTTP counts as a 200.
    init(of response: URLResponse) {
        if let response = response as? HTTPURLResponse {
            self.init(status: response.statusCode, fields: response.fields)
            return
        }
        var fields = HeaderFields()
        if let type = response.mimeType { fields.append(.contentType, type) }
        if response.expectedContentLength >= 0 {
            fields.append(.contentLength, String(response.expectedContentLength))
        }
        self.init(status: 200, fields: fields)
    }
}

extension BodyFraming {
    /// The framing of a response that was made in this process, whose content has no coding, whatever its fields are.
    static func ofLocal(_ head: ResponseHead, to method: RequestMethod) -> BodyFraming {
        let framing = (try? ofResponse(head, to: method)) ?? .untilClose
        guard case .length = framing, head.fields.contains(.contentEncoding) else { return framing }
        return .untilClose
    }
}
