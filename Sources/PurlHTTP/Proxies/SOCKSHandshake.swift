/// The client's side of asking a SOCKS 5 proxy for a connection (RFC 1928), with a user and a password where the proxy wants
/// them (RFC 1929): bytes in, bytes out.
///
/// ```
/// methods ──► login ──► request ──► done
///    └──────────────────►┘
/// ```
///
/// What is to be sent is in ``output``. The proxy's replies have lengths that only their beginnings tell: ``needed`` is how
/// many bytes have to be received before the next step. No more may be received, since what follows the last reply belongs
/// to the server.
package struct SOCKSHandshake: Sendable {
    /// Where the proxy is to connect to.
    package enum Destination: Sendable, Hashable {
        /// A name, which the proxy looks up.
        case name(String)
        /// The four or sixteen bytes of an address.
        case address([UInt8])
    }

    private enum Stage: Hashable {
        /// The proxy chooses how the client proves who it is.
        case method
        /// The proxy judges the user and the password.
        case login
        /// The proxy has connected, or not: the reply up to the kind of its address.
        case reply
        /// The first byte of a name in the reply is its length.
        case nameLength
        /// The rest of the reply means nothing to the client.
        case remainder
        case done
    }

    private static let version: UInt8 = 5
    private static let noAuthentication: UInt8 = 0
    private static let userAndPassword: UInt8 = 2

    /// What is to be sent before anything is received.
    package private(set) var output: [UInt8]
    /// How many bytes the next step takes; 0 when the handshake is done.
    package private(set) var needed = 2

    private let login: [UInt8]?
    private let request: [UInt8]
    private var stage = Stage.method

    /// A handshake whose first message is in ``output``.
    ///
    /// - Parameters:
    ///   - user: Who asks, where the proxy wants to know; the password may be empty.
    package init(
        to destination: Destination, port: UInt16, user: String? = nil, password: String? = nil
    ) throws(SOCKSFailure) {
        request = try Self.request(for: destination, port)
        if let user {
            login = try Self.login(user, password ?? "")
            output = [Self.version, 2, Self.noAuthentication, Self.userAndPassword]
        } else {
            login = nil
            output = [Self.version, 1, Self.noAuthentication]
        }
    }

    /// RFC 1928 §4: the connection to a host.
    private static func request(for destination: Destination, _ port: UInt16) throws(SOCKSFailure) -> [UInt8] {
        var bytes: [UInt8] = [version, 1, 0]
        switch destination {
        case .name(let name):
            let text = Array(name.utf8)
            guard let length = UInt8(exactly: text.count), length > 0 else { throw .unsendableName }
            bytes += [3, length] + text
        case .address(let address):
            guard address.count == 4 || address.count == 16 else { throw .unsendableName }
            bytes.append(address.count == 4 ? 1 : 4)
            bytes += address
        }
        return bytes + [UInt8(port >> 8), UInt8(port & 0xFF)]
    }

    /// RFC 1929 §2.
    private static func login(_ user: String, _ password: String) throws(SOCKSFailure) -> [UInt8] {
        let (user, password) = (Array(user.utf8), Array(password.utf8))
        guard let userLength = UInt8(exactly: user.count), let passwordLength = UInt8(exactly: password.count),
            userLength > 0
        else { throw .unsendableLogin }
        return [1, userLength] + user + [passwordLength] + password
    }

    /// Whether the connection to the server is there.
    package var isDone: Bool { stage == .done }

    /// ``output`` has been sent.
    package mutating func clearOutput() {
        output = []
    }

    /// Takes the ``needed`` bytes.
    package mutating func receive(_ bytes: [UInt8]) throws(SOCKSFailure) {
        guard bytes.count == needed, let first = bytes.first else { throw .malformed }
        switch stage {
        case .method:
            guard first == Self.version else { throw .notSOCKS }
            try choose(bytes[1])
        case .login:
            // The version of this message is 1; some proxies send 5.
            guard bytes[1] == 0 else { throw .loginRefused }
            sendRequest()
        case .reply:
            guard first == Self.version else { throw .notSOCKS }
            guard bytes[1] == 0 else { throw .refused(SOCKSRefusal(code: bytes[1])) }
            switch bytes[3] {
            case 1: expect(4 + 2, .remainder)
            case 3: expect(1, .nameLength)
            case 4: expect(16 + 2, .remainder)
            default: throw .malformed
            }
        case .nameLength: expect(Int(first) + 2, .remainder)
        case .remainder: expect(0, .done)
        case .done: throw .malformed
        }
    }

    private mutating func choose(_ method: UInt8) throws(SOCKSFailure) {
        switch method {
        case Self.noAuthentication:
            sendRequest()
        case Self.userAndPassword:
            guard let login else { throw .malformed }
            output = login
            expect(2, .login)
        case 0xFF: throw login == nil ? .loginWanted : .noCommonMethod
        default: throw .malformed
        }
    }

    private mutating func sendRequest() {
        output = request
        expect(4, .reply)
    }

    private mutating func expect(_ count: Int, _ stage: Stage) {
        needed = count
        self.stage = stage
    }
}

/// Why a SOCKS proxy made no connection.
package enum SOCKSFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the server is empty, or longer than 255 bytes.
    case unsendableName
    /// The user is empty, or the user or the password longer than 255 bytes.
    case unsendableLogin
    case notSOCKS
    /// The proxy wants a user and a password, or another proof, and there is none.
    case loginWanted
    /// The proxy wants neither nothing nor a user and a password.
    case noCommonMethod
    case loginRefused
    case refused(SOCKSRefusal)
    case malformed
    /// The proxy has closed the connection.
    case ended

    package var description: String {
        switch self {
        case .unsendableName: "the server's name is empty, or longer than the 255 bytes that SOCKS has room for"
        case .unsendableLogin: "the user is empty, or the user or the password longer than 255 bytes"
        case .notSOCKS: "it does not speak SOCKS 5"
        case .loginWanted: "it wants to know who asks, and no user was given"
        case .noCommonMethod: "it accepts neither a user and a password nor to go without them"
        case .loginRefused: "it refused the user and the password"
        case .refused(let refusal): refusal.description
        case .malformed: "its reply is malformed"
        case .ended: "it closed the connection before there was one to the server"
        }
    }

    /// Whether the reason lies in the network, and may pass.
    package var mayPass: Bool {
        switch self {
        case .refused(.generalFailure), .refused(.networkUnreachable), .refused(.hostUnreachable),
            .refused(.connectionRefused), .refused(.timeToLiveExpired), .ended:
            true
        case .unsendableName, .unsendableLogin, .notSOCKS, .loginWanted, .noCommonMethod, .loginRefused, .refused,
            .malformed:
            false
        }
    }
}

/// The reply field of RFC 1928 §6.
package enum SOCKSRefusal: Sendable, Hashable, CustomStringConvertible {
    case generalFailure
    case notAllowed
    case networkUnreachable
    case hostUnreachable
    case connectionRefused
    case timeToLiveExpired
    case commandNotSupported
    case addressTypeNotSupported
    case other(UInt8)

    init(code: UInt8) {
        switch code {
        case 1: self = .generalFailure
        case 2: self = .notAllowed
        case 3: self = .networkUnreachable
        case 4: self = .hostUnreachable
        case 5: self = .connectionRefused
        case 6: self = .timeToLiveExpired
        case 7: self = .commandNotSupported
        case 8: self = .addressTypeNotSupported
        default: self = .other(code)
        }
    }

    package var description: String {
        switch self {
        case .generalFailure: "it failed, for a reason that it does not give"
        case .notAllowed: "its rules do not allow the connection"
        case .networkUnreachable: "it cannot reach the server's network"
        case .hostUnreachable: "it cannot reach the server, or knows no such name"
        case .connectionRefused: "the server refused its connection"
        case .timeToLiveExpired: "the way to the server is too long"
        case .commandNotSupported: "it makes no connections"
        case .addressTypeNotSupported: "it does not take this kind of address"
        case .other(let code): "it refused with the unknown code \(code)"
        }
    }
}
