import Foundation

@testable import Purl

/// What is tried in one session: a few tasks, one after another, and what is sent over each.
struct ConversationPlan: Sendable {
    enum Kind: CaseIterable, Sendable {
        case webSocket, stream, upgrade
    }

    /// How a task is brought to its end when all calls have been made.
    enum Ending: CaseIterable, Sendable {
        /// Takes all that comes.
        case drain
        case close, cancel, capture
    }

    /// One call of the user's: the kind of task decides which, and how much is sent or asked for.
    struct Act: Sendable {
        let code: Int
        let value: Int
        /// Once the calls before it have come about.
        let waits: Bool
    }

    struct Conversation: Sendable {
        let kind: Kind
        let ending: Ending
        let disposition: URLSession.ResponseDisposition
        /// The delegate decides about a response when more of it has come.
        let decidesLate: Bool
        let isCancelled: Bool
        let hasUser: Bool
        let hasBody: Bool
        let maximumMessageSize: Int
        let extensions: String?
        let acts: [Act]

        init(_ choices: inout Choices) {
            kind = choices.one(of: Kind.allCases)
            let options = choices.byte()
            ending = Ending.allCases[Int(options & 3)]
            isCancelled = options & 0x1C == 0x1C
            hasUser = options & 0x20 != 0
            hasBody = options & 0x40 != 0
            let decision = choices.byte()
            disposition = [.becomeStream, .becomeStream, .allow, .cancel][Int(decision & 3)]
            decidesLate = decision & 4 != 0
            maximumMessageSize = options & 0x80 != 0 ? choices.one(of: Self.messageSizes) : 1 << 20
            extensions = choices.one(of: Self.extensionFields)
            acts = (0..<choices.number(below: 10)).map { _ in
                let code = choices.byte()
                return Act(code: Int(code & 0x7F), value: Int(choices.byte()), waits: code & 0x80 != 0)
            }
        }

        private static let messageSizes = [0, 1, 5, 125, 126, 1000, 70_000]
        private static let extensionFields: [String?] = [
            nil, "", "permessage-deflate; client_no_context_takeover; server_no_context_takeover",
            "permessage-deflate; client_max_window_bits=9; server_max_window_bits=10",
            "permessage-deflate; server_max_window_bits=8, permessage-deflate", "x-other",
        ]
    }

    let conversations: [Conversation]
    let bufferLimit: Int
    let usesProxy: Bool
    /// The delegate implements the calls for WebSockets, streams and responses; otherwise `didComplete` alone.
    let isExpert: Bool

    init(_ choices: inout Choices) {
        let options = choices.byte()
        bufferLimit = options & 0x04 != 0 ? 1 + Int(choices.byte()) : 1 << 20
        usesProxy = options & 0x18 == 0x18
        isExpert = options & 0xE0 != 0xE0
        conversations = (0...Int(options & 0x03) / 2).map { _ in Conversation(&choices) }
    }
}
