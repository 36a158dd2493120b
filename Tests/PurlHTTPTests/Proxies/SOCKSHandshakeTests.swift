import PurlHTTP
import Testing

@Suite("The handshake with a SOCKS proxy (RFC 1928, RFC 1929)")
struct SOCKSHandshakeTests {
    /// What the client sends and how many bytes it then waits for, and what the proxy replies.
    struct Conversation: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let destination: SOCKSHandshake.Destination
        var user: String?
        var password: String?
        let replies: [[UInt8]]
        var sent: [UInt8] = []
        var failure: SOCKSFailure?
    }

    private static let name = SOCKSHandshake.Destination.name("ab")
    private static let accepted: [UInt8] = [5, 0, 0, 1]
    private static let request: [UInt8] = [5, 1, 0, 3, 2, 97, 98, 0x1F, 0x90]

    static let conversations: [Conversation] = [
        Conversation(
            testDescription: "a name, which the proxy looks up", destination: name,
            replies: [[5, 0], accepted, [0, 0, 0, 0, 0, 0]], sent: [5, 1, 0] + request),
        Conversation(
            testDescription: "an IPv4 address", destination: .address([127, 0, 0, 1]),
            replies: [[5, 0], accepted, [1, 2, 3, 4, 5, 6]], sent: [5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0x1F, 0x90]),
        Conversation(
            testDescription: "an IPv6 address, and one in the reply",
            destination: .address([UInt8](repeating: 9, count: 16)),
            replies: [[5, 0], [5, 0, 0, 4], [UInt8](repeating: 0, count: 18)],
            sent: [5, 1, 0, 5, 1, 0, 4] + [UInt8](repeating: 9, count: 16) + [0x1F, 0x90]),
        Conversation(
            testDescription: "a name in the reply", destination: name,
            replies: [[5, 0], [5, 0, 0, 3], [3], [97, 98, 99, 0, 80]], sent: [5, 1, 0] + request),
        Conversation(
            testDescription: "a user that the proxy does not ask for", destination: name, user: "me",
            replies: [[5, 0], accepted, [0, 0, 0, 0, 0, 0]], sent: [5, 2, 0, 2] + request),
        Conversation(
            testDescription: "a user and a password", destination: name, user: "me", password: "pw",
            replies: [[5, 2], [1, 0], accepted, [0, 0, 0, 0, 0, 0]],
            sent: [5, 2, 0, 2, 1, 2, 109, 101, 2, 112, 119] + request),
        Conversation(
            testDescription: "a user without a password, accepted with the wrong version", destination: name,
            user: "me",
            replies: [[5, 2], [5, 0], accepted, [0, 0, 0, 0, 0, 0]],
            sent: [5, 2, 0, 2, 1, 2, 109, 101, 0] + request),
        Conversation(
            testDescription: "a login that is refused", destination: name, user: "me", replies: [[5, 2], [1, 1]],
            failure: .loginRefused),
        Conversation(
            testDescription: "a proxy that wants a login", destination: name, replies: [[5, 0xFF]],
            failure: .loginWanted),
        Conversation(
            testDescription: "a proxy that wants another proof", destination: name, user: "me", replies: [[5, 0xFF]],
            failure: .noCommonMethod),
        Conversation(
            testDescription: "a method that was not offered", destination: name, replies: [[5, 2]], failure: .malformed),
        Conversation(
            testDescription: "a server of HTTP", destination: name, replies: [[72, 84]], failure: .notSOCKS),
        Conversation(
            testDescription: "another version in the reply", destination: name, replies: [[5, 0], [4, 0, 0, 1]],
            failure: .notSOCKS),
        Conversation(
            testDescription: "a reply with an unknown kind of address", destination: name,
            replies: [[5, 0], [5, 0, 0, 2]], failure: .malformed),
    ]

    @Test("Each reply leads to the next message, or to a failure", arguments: conversations)
    func conversation(_ expected: Conversation) throws {
        var handshake = try SOCKSHandshake(
            to: expected.destination, port: 8080, user: expected.user, password: expected.password)
        var sent: [UInt8] = []
        var failure: SOCKSFailure?
        do throws(SOCKSFailure) {
            for reply in expected.replies {
                sent += handshake.output
                handshake.clearOutput()
                #expect(handshake.needed == reply.count)
                try handshake.receive(reply)
            }
        } catch {
            failure = error
        }
        #expect(failure == expected.failure)
        guard expected.failure == nil else { return }
        #expect(sent == expected.sent)
        #expect(handshake.isDone && handshake.needed == 0 && handshake.output == [])
    }

    @Test("Every refusal has a sentence of its own")
    func refusals() throws {
        var sentences: Set<String> = []
        for code in UInt8(1)...10 {
            var handshake = try SOCKSHandshake(to: Self.name, port: 80)
            try handshake.receive([5, 0])
            let failure = #expect(throws: SOCKSFailure.self) { try handshake.receive([5, code, 0, 1]) }
            sentences.insert(try #require(failure).description)
        }
        #expect(sentences.count == 10)
    }

    @Test("What has no room in a message is not sent")
    func unsendable() {
        let long = String(repeating: "x", count: 256)
        #expect(throws: SOCKSFailure.unsendableName) { try SOCKSHandshake(to: .name(long), port: 80) }
        #expect(throws: SOCKSFailure.unsendableName) { try SOCKSHandshake(to: .name(""), port: 80) }
        #expect(throws: SOCKSFailure.unsendableName) { try SOCKSHandshake(to: .address([1]), port: 80) }
        for (user, password) in [(long, "p"), ("u", long), ("", "p")] {
            #expect(throws: SOCKSFailure.unsendableLogin) {
                try SOCKSHandshake(to: Self.name, port: 80, user: user, password: password)
            }
        }
    }
}
