import Foundation
import PurlHTTP
import PurlTesting
import Synchronization

/// The server's side of digest authentication: issues nonces, computes the expected response, and accepts no count
/// twice.
final class DigestServer: Sendable {
    /// The parameters of one request's response to the challenge.
    struct Entry: Equatable, Sendable {
        var nonce: String
        var count: Int
        var isGood: Bool
    }

    private struct State {
        var nonces = 0
        var entries: [Entry] = []
        var clientNonces: Set<String> = []
    }

    private let algorithm: DigestAlgorithm?
    private let hasQuality: Bool
    private let usesPerNonce: Int
    private let namesNextNonce: Bool
    private let saysStale: Bool
    private let isProxy: Bool
    private let state = Mutex(State())

    /// - Parameters:
    ///   - algorithm: nil names none, which means MD5.
    ///   - hasQuality: Whether `qop=auth` is offered.
    ///   - usesPerNonce: How many requests a nonce is valid for.
    ///   - namesNextNonce: Whether each good response names the next nonce.
    ///   - saysStale: Whether a refusal of an old nonce has `stale=true`.
    ///   - isProxy: Whether it is a proxy's challenge.
    init(
        _ algorithm: DigestAlgorithm? = .sha256, hasQuality: Bool = true, usesPerNonce: Int = .max,
        namesNextNonce: Bool = false, saysStale: Bool = true, isProxy: Bool = false
    ) {
        self.algorithm = algorithm
        self.hasQuality = hasQuality
        self.usesPerNonce = usesPerNonce
        self.namesNextNonce = namesNextNonce
        self.saysStale = saysStale
        self.isProxy = isProxy
    }

    /// The parameters of all authenticated requests, in order.
    var entries: [Entry] { state.withLock { $0.entries } }

    /// Whether no client's nonce came twice.
    var hasFreshClientNonces: Bool { state.withLock { $0.clientNonces.count == $0.entries.count } }

    func reply(_ inside: Reply = .text("inside")) -> Reply {
        .computed { [self] request in
            guard let value = request.fields[isProxy ? "Proxy-Authorization" : "Authorization"] else {
                return refusal(isStale: false)
            }
            guard let answer = read(value, request), answer.isGood else { return refusal(isStale: false) }
            let uses = entries.count { $0.nonce == answer.nonce }
            guard uses <= usesPerNonce, answer.nonce == "nonce-\(state.withLock { $0.nonces })" else {
                return refusal(isStale: saysStale)
            }
            guard namesNextNonce else { return inside }
            let name = isProxy ? "Proxy-Authentication-Info" : "Authentication-Info"
            return inside.field(name, #"rspauth="", nextnonce="\#(makeNonce())""#)
        }
    }

    /// A challenge with a new nonce.
    func challenge(isStale: Bool = false) -> String {
        var text = #"Digest realm="vault", nonce="\#(makeNonce())", opaque="o p""#
        if let algorithm { text += ", algorithm=\(algorithm.name)" }
        if hasQuality { text += #", qop="auth-int, auth""# }
        if isStale { text += ", stale=TRUE" }
        return text
    }

    private func refusal(isStale: Bool) -> Reply {
        let challenge = challenge(isStale: isStale)
        return isProxy
            ? .text("who are you?").status(407).field("Proxy-Authenticate", challenge)
            : .text("who are you?").status(401).field("WWW-Authenticate", challenge)
    }

    private func makeNonce() -> String {
        state.withLock { state in
            state.nonces += 1
            return "nonce-\(state.nonces)"
        }
    }

    private func read(_ value: String, _ request: ReceivedRequest) -> Entry? {
        guard let answer = Challenge.all(in: [.authorization: value], .authorization).first, answer.isScheme("Digest")
        else { return nil }
        let nonce = answer.parameter("nonce") ?? ""
        let clientNonce = answer.parameter("cnonce") ?? ""
        let digits = answer.parameter("nc") ?? ""
        var secret = hash("me:vault:secret")
        if algorithm?.isSession == true { secret = hash("\(secret):\(nonce):\(clientNonce)") }
        let middle = hasQuality ? "\(digits):\(clientNonce):auth:" : ""
        let proof = hash("\(secret):\(nonce):\(middle)\(hash("\(request.method):\(request.target)"))")
        let count = Int(digits, radix: 16) ?? 0
        return state.withLock { state in
            let isNew = !hasQuality || !state.entries.contains { $0.nonce == nonce && $0.count >= count }
            let isGood =
                answer.parameter("response") == proof && answer.parameter("uri") == request.target
                && answer.parameter("opaque") == "o p" && answer.parameter("username") == "me" && isNew
            let entry = Entry(nonce: nonce, count: count, isGood: isGood)
            state.entries.append(entry)
            state.clientNonces.insert(clientNonce)
            return entry
        }
    }

    private func hash(_ text: String) -> String {
        let bytes = Array(text.utf8)
        switch algorithm {
        case .md5, .md5Session, nil:
            var digest = MD5()
            digest.update(bytes.span.bytes)
            return SHA256.hexadecimal(digest.finalize())
        case .sha256, .sha256Session:
            var digest = SHA256()
            digest.update(bytes.span.bytes)
            return SHA256.hexadecimal(digest.finalize())
        }
    }
}
