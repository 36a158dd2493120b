import Foundation
internal import PurlHTTP
internal import PurlIO

/// A response that is made in this process, no faster than it is taken.
///
/// Its owner pushes an answer, its content and the end; what is pushed while the transfer takes nothing waits here.
@NetworkActor
final class LocalExchange: ResponseSource {
    /// A part of the response, in the order of the cases.
    enum Piece {
        /// - Parameter mayRedirect: A redirect is followed; otherwise it is the result like any other response.
        case answer(URLResponse, ResponseHead, BodyFraming, mayRedirect: Bool)
        /// Another request is to be loaded; if the delegate does not want that, the response is the result.
        case redirect(URLResponse, ResponseHead, URLRequest)
        /// The delegate is to say who asks.
        case challenge(URLAuthenticationChallenge, answer: Transfer.ChallengeAnswer)
        /// Content, without any coding.
        case content(Data)
        case end
        case failure(TransferFailure)
    }

    /// No more content at a time than comes from a connection, so that a slow consumer holds it back.
    private static let portion = 65_536

    private weak var transfer: Transfer?
    private var pieces = Queue<Piece>()
    private var isDelivering = false
    /// The transfer wants no more; called once.
    var whenAbandoned: (() -> Void)?

    init(for transfer: Transfer) {
        self.transfer = transfer
    }

    var isRemote: Bool { false }
    var isReused: Bool { false }
    var awaitsItsOwn: Bool { false }

    var isPaused = false {
        didSet { deliver() }
    }

    func push(_ piece: Piece) {
        guard transfer != nil else { return }
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
        transfer = nil
        pieces = Queue()
        let call = whenAbandoned
        whenAbandoned = nil
        call?()
    }

    private func deliver() {
        guard !isDelivering else { return }
        isDelivering = true
        defer { isDelivering = false }
        while !isPaused, let transfer, let piece = pieces.first {
            pieces.removeFirst()
            switch piece {
            case .answer(let response, let head, let framing, let mayRedirect):
                let answer = Answer(response: response, head: head, framing: framing, source: self)
                if mayRedirect {
                    transfer.take(answer)
                } else {
                    transfer.recordLocalAnswer(response, from: .unknown)
                    transfer.acceptOrFail(answer)
                }
            case .redirect(let response, let head, let next):
                // Nothing of its body is waited for.
                let answer = Answer(response: response, head: head, framing: .untilClose, source: self)
                transfer.redirect(answer, to: next)
            case .challenge(let challenge, let answer):
                transfer.pass(on: challenge, from: self, answer)
            case .content(let data):
                data.withUnsafeBytes { transfer.exchange(self, didReceive: $0) }
            case .end:
                letGo()
                transfer.exchangeDidFinish(self)
            case .failure(let failure):
                letGo()
                transfer.fail(failure)
            }
        }
    }

    /// There is nothing more to hand on. Whoever pushed it holds this exchange, and is held no longer.
    private func letGo() {
        transfer = nil
        whenAbandoned = nil
    }
}
