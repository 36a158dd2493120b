public import Foundation
internal import PurlHTTP

extension TransferTrace {
    /// Where something happens.
    public enum Lane: String, Sendable, Hashable, Codable, CaseIterable {
        /// The program: calls of a task's methods, and continuations of `async` methods.
        case caller
        /// The session's delegate queue.
        case delegateQueue
        /// The one thread that does all the networking.
        case network
        /// The queues that write files.
        case files
        /// The server, as far as a test's server adds remarks.
        case server

        /// Its place among events of the same time.
        var position: Int {
            switch self {
            case .caller: 0
            case .delegateQueue: 1
            case .network: 2
            case .files: 3
            case .server: 4
            }
        }
    }

    /// One thing that has happened.
    public struct Event: Sendable, Hashable, Codable {
        /// The time since the first event, in nanoseconds.
        public var nanoseconds: Int64
        /// Where it has happened.
        public var lane: Lane
        /// The identifier of the task; `nil` for remarks. Where tasks of several sessions share the trace, one whose identifier
        /// another task has there has the next number.
        public var task: Int?
        /// The number of the request and its response in this trace, from 1.
        public var exchange: Int?
        /// The number of the connection in this trace, from 1.
        public var connection: Int?
        /// What has happened.
        public var kind: Kind

        /// An event.
        ///
        /// - Parameters:
        ///   - nanoseconds: The time since the first event.
        ///   - lane: Where it has happened.
        ///   - task: The identifier of the task.
        ///   - exchange: The number of the exchange.
        ///   - connection: The number of the connection.
        ///   - kind: What has happened.
        public init(
            nanoseconds: Int64, lane: Lane, task: Int? = nil, exchange: Int? = nil, connection: Int? = nil, kind: Kind
        ) {
            self.nanoseconds = nanoseconds
            self.lane = lane
            self.task = task
            self.exchange = exchange
            self.connection = connection
            self.kind = kind
        }

        /// The time since the first event.
        public var time: Duration { .nanoseconds(nanoseconds) }
    }

    // A new case, here or below, or a new field, makes a new version of saved traces: `SavedVersion` in PurlTrace.
    /// What has happened.
    public enum Kind: Sendable, Hashable, Codable {
        /// A task was made, or this trace was given to it.
        case made(method: String, url: String)
        /// The program has called a task's method, which has sent a message to the network thread.
        case call(TaskCall)
        /// A call of the program arrives on the network thread.
        case message(TaskCall)
        /// The answer to a question to the delegate arrives on the network thread.
        case answer(DelegateMethod)
        /// A connection is needed, and none is idle.
        case waiting(host: String)
        /// A connection is being made.
        case dialling(host: String)
        /// A name is looked up.
        case lookUp(host: String)
        /// The look-up is over. There are no addresses where it has failed.
        case resolved(addresses: [String])
        /// A connection is being made secure.
        case handshake(host: String)
        /// A connection is secure.
        case secured(Security)
        /// A connection has not become secure, or its server is not trusted.
        case handshakeFailed(reason: String)
        /// The request has a connection.
        case connected(Connection)
        /// No connection could be made.
        case dialFailed(reason: String)
        /// The head of a request is sent.
        case requestHead(RequestHead)
        /// The request has gone out.
        case requestEnd
        /// The head of an interim response (1xx) has arrived.
        case interimHead(ResponseHead)
        /// The head of the response has arrived.
        case responseHead(ResponseHead)
        /// Bytes of the request's body have gone out.
        case bodySent(Piece)
        /// Bytes of the response's body have arrived.
        case bodyReceived(Piece)
        /// A frame of a WebSocket, or a whole message, is sent.
        case frameSent(WebSocketFrame)
        /// A frame of a WebSocket, or a whole message, has arrived.
        case frameReceived(WebSocketFrame)
        /// Bytes of a stream task have been sent.
        case streamSent(Int)
        /// Bytes of a stream task have arrived.
        case streamReceived(Int)
        /// Content was decoded from a response with a content coding.
        case decoded(Piece)
        /// The response is complete.
        ///
        /// - Parameter connectionStays: Whether the connection can be used again.
        case responseEnd(connectionStays: Bool)
        /// The connection now carries messages or a stream.
        case switched(status: Int)
        /// The exchange has failed.
        case exchangeFailed(reason: String)
        /// The response is given up, and with it the connection.
        case abandoned
        /// The response comes from this process: a cache, a protocol, or a `data:` or `file:` URL.
        case localResponse
        /// Nothing is read from the connection from now on.
        case held(Hold)
        /// The reason not to read is gone.
        case released(Hold)
        /// What the cache has decided.
        case cache(CacheStep)
        /// Cookies are sent, by their names.
        case cookiesSent(names: [String])
        /// A response sets cookies, by their names.
        case cookiesReceived(names: [String])
        /// A redirect is followed.
        case redirect(url: String)
        /// A server, or a proxy, asks for credentials.
        case challenge(schemes: [String], isProxy: Bool)
        /// The request is sent again with credentials.
        case credentials(isProxy: Bool)
        /// The request is sent again.
        case retry(RetryReason)
        /// Dialling is tried again after a pause.
        case redial
        /// A body goes into a file, or another sink, from this offset on.
        case storing(offset: Int64)
        /// Bytes have been written to the file, as the network thread learns.
        case written(Int)
        /// Something was done to a file.
        case file(FileStep)
        /// A call of the delegate, or of a handler, waits in the delegate queue.
        case queued(DelegateCall)
        /// The call begins.
        case began(DelegateCall)
        /// The call has returned.
        case ended(DelegateCall)
        /// Another task has taken the task's place.
        case replaced(by: Int)
        /// The transfer is over; its last calls follow.
        case completed(error: String?)
        /// A remark of the program's.
        case note(String)
        /// An event in a trace that a later version has saved, which this version does not know.
        case unknown(name: String)
    }

    /// A call of a task's method.
    public enum TaskCall: String, Sendable, Hashable, Codable {
        /// `resume`.
        case resume
        /// `suspend`.
        case suspend
        /// `cancel`.
        case cancel
        /// `cancel(byProducingResumeData:)`.
        case cancelByProducingResumeData
        /// `cancel(with:reason:)` of a WebSocket task.
        case cancelWithReason
    }

    /// The address of one end of a connection.
    public enum Address: Sendable, Hashable, Codable, CustomStringConvertible {
        /// The address in digits, its bytes, of which there are four or sixteen, and a port.
        case network(host: String, bytes: [UInt8], port: UInt16)
        /// A local socket.
        case path(String)

        /// `127.0.0.1:80`, `[::1]:80`, or the path.
        public var description: String {
            switch self {
            case .network(let host, let bytes, let port): bytes.count == 16 ? "[\(host)]:\(port)" : "\(host):\(port)"
            case .path(let path): path
            }
        }
    }

    /// A connection as a request gets it.
    public struct Connection: Sendable, Hashable, Codable {
        /// The address of this end; `nil` where it has none.
        public var local: Address?
        /// The address of the other end; `nil` where it has none.
        public var remote: Address?
        /// Whether an earlier request has used it.
        public var isReused: Bool
        /// Whether it leads to a proxy.
        public var isProxied: Bool
        /// How long the look-up has taken, in nanoseconds; `nil` without one.
        public var lookUp: Int64?
        /// How long connecting has taken, in nanoseconds; `nil` for a reused connection.
        public var connect: Int64?

        /// A connection.
        ///
        /// - Parameters:
        ///   - local: The address of this end.
        ///   - remote: The address of the other end.
        ///   - isReused: Whether an earlier request has used it.
        ///   - isProxied: Whether it leads to a proxy.
        ///   - lookUp: How long the look-up has taken, in nanoseconds.
        ///   - connect: How long connecting has taken, in nanoseconds.
        public init(
            local: Address?, remote: Address?, isReused: Bool = false, isProxied: Bool = false, lookUp: Int64? = nil,
            connect: Int64? = nil
        ) {
            self.local = local
            self.remote = remote
            self.isReused = isReused
            self.isProxied = isProxied
            self.lookUp = lookUp
            self.connect = connect
        }
    }

    /// What a TLS handshake has agreed upon.
    public struct Security: Sendable, Hashable, Codable {
        /// The version: `TLS 1.3`.
        public var version: String
        /// The cipher suite by its name in the registry, without `TLS_`; `nil` where the provider does not tell.
        public var cipherSuite: String?
        /// The protocol of the application that was chosen; `nil` for none.
        public var applicationProtocol: String?
        /// Whether an earlier session was resumed.
        public var isResumed: Bool

        /// What a handshake has agreed upon.
        ///
        /// - Parameter isResumed: Whether an earlier session was resumed.
        public init(
            version: String, cipherSuite: String? = nil, applicationProtocol: String? = nil, isResumed: Bool = false
        ) {
            self.version = version
            self.cipherSuite = cipherSuite
            self.applicationProtocol = applicationProtocol
            self.isResumed = isResumed
        }
    }

    /// A control frame of a WebSocket, or a message, of however many frames.
    public struct WebSocketFrame: Sendable, Hashable, Codable {
        /// What a frame is.
        public enum Form: String, Sendable, Hashable, Codable {
            /// A message that is text.
            case text
            /// A message that is binary.
            case binary
            case ping, pong, close
        }

        /// What it is.
        public var form: Form
        /// How many bytes of content it has, before compression.
        public var count: Int
        /// The first bytes of a message's content, as many as are kept.
        public var content: Data?
        /// The code of a close frame that has one.
        public var closeCode: Int?

        /// A frame.
        ///
        /// - Parameters:
        ///   - form: What it is.
        ///   - count: How many bytes of content it has.
        ///   - content: The first bytes of a message's content.
        ///   - closeCode: The code of a close frame.
        public init(form: Form, count: Int, content: Data? = nil, closeCode: Int? = nil) {
            self.form = form
            self.count = count
            self.content = content
            self.closeCode = closeCode
        }
    }

    /// A field of a head.
    public struct Field: Sendable, Hashable, Codable {
        /// The name, as it was sent.
        public var name: String
        /// The value; ``TransferTrace/redacted`` in place of a secret.
        public var value: String

        /// A field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// What stands in place of a secret.
    public static let redacted = "(redacted)"

    /// The head of a request.
    public struct RequestHead: Sendable, Hashable, Codable {
        /// The URL, without a user.
        public var url: String
        /// The method.
        public var method: String
        /// The target of the request line.
        public var target: String
        /// The fields, in their order.
        public var fields: [Field] { stored.fields }
        /// How many bytes it has on the wire.
        public var byteCount: Int
        private let stored: TracedFields

        /// A head.
        ///
        /// - Parameters:
        ///   - target: The target of the request line.
        ///   - fields: The fields, in their order.
        ///   - byteCount: How many bytes it has on the wire.
        public init(url: String, method: String, target: String, fields: [Field], byteCount: Int) {
            self.init(url: url, method: method, target: target, stored: TracedFields(fields), byteCount: byteCount)
        }

        init(url: String, method: String, target: String, stored: TracedFields, byteCount: Int) {
            self.url = url
            self.method = method
            self.target = target
            self.byteCount = byteCount
            self.stored = stored
        }

        /// The head with its texts changed.
        fileprivate func mapTexts(_ change: (String) -> String) -> RequestHead {
            RequestHead(
                url: change(url), method: change(method), target: change(target), stored: stored.mapValues(change),
                byteCount: byteCount)
        }

        private enum CodingKeys: String, CodingKey {
            case url, method, target, byteCount
            case stored = "fields"
        }
    }

    /// The head of a response.
    public struct ResponseHead: Sendable, Hashable, Codable {
        /// The status.
        public var status: Int
        /// The reason phrase, which may be empty.
        public var reason: String
        /// The fields, in their order.
        public var fields: [Field] { stored.fields }
        /// How many bytes it has on the wire.
        public var byteCount: Int
        private let stored: TracedFields

        /// A head.
        ///
        /// - Parameters:
        ///   - reason: The reason phrase.
        ///   - fields: The fields, in their order.
        ///   - byteCount: How many bytes it has on the wire.
        public init(status: Int, reason: String, fields: [Field], byteCount: Int) {
            self.init(status: status, reason: reason, stored: TracedFields(fields), byteCount: byteCount)
        }

        init(status: Int, reason: String, stored: TracedFields, byteCount: Int) {
            self.status = status
            self.reason = reason
            self.byteCount = byteCount
            self.stored = stored
        }

        /// The head with its texts changed.
        fileprivate func mapTexts(_ change: (String) -> String) -> ResponseHead {
            ResponseHead(
                status: status, reason: change(reason), stored: stored.mapValues(change), byteCount: byteCount)
        }

        private enum CodingKeys: String, CodingKey {
            case status, reason, byteCount
            case stored = "fields"
        }
    }

    /// A piece of a body.
    public struct Piece: Sendable, Hashable, Codable {
        /// How many bytes of content it has.
        public var count: Int
        /// How many bytes it has on the wire, with the framing of chunks.
        public var wireCount: Int
        /// The first bytes of the content, as many as are kept.
        public var content: Data?

        /// A piece.
        ///
        /// - Parameters:
        ///   - count: How many bytes of content it has.
        ///   - wireCount: How many bytes it has on the wire; `nil`: as many.
        ///   - content: The first bytes of the content.
        public init(count: Int, wireCount: Int? = nil, content: Data? = nil) {
            self.count = count
            self.wireCount = wireCount ?? count
            self.content = content
        }
    }

    /// Why nothing is read from a connection.
    public enum Hold: String, Sendable, Hashable, Codable {
        /// The task is suspended.
        case suspended
        /// The delegate has been asked a question.
        case deciding
        /// The delegate, or the file, has not taken as many bytes as a task may hold.
        case full
        /// There is more to decode than one turn of the network thread may take.
        case decoding
    }

    /// What the cache does.
    public enum CacheStep: String, Sendable, Hashable, Codable {
        /// Nothing that is stored can be used.
        case miss
        /// A stored response is the response.
        case hit
        /// The server is asked whether the stored response is still right.
        case validate
        /// The policy accepts only what is stored, and nothing is.
        case refuse
        /// The server has confirmed the stored response.
        case confirmed
        /// The stored response takes the place of a failure.
        case replacesFailure
        /// The response is stored, if the delegate does not object.
        case store
    }

    /// Why a request is sent again.
    public enum RetryReason: String, Sendable, Hashable, Codable {
        /// The server has closed the idle connection on which the request was sent.
        case idleConnectionClosed
        /// The server has not accepted the expectation (417).
        case expectationFailed
        /// The rest of the resource cannot be used: all of it is requested.
        case wholeResource
        /// The rest is requested on condition that it is of the same version.
        case restOfSameVersion
        /// The server has sent a part: what follows is requested.
        case nextPart
        /// A background session repeats a request that has timed out.
        case timedOut
    }

    /// What is done to a file.
    public enum FileStep: Sendable, Hashable, Codable {
        /// The partial file of a download is made.
        case create
        /// Bytes are written.
        case write(Int)
        /// The bytes so far have reached the disk.
        case sync
        /// The file is emptied.
        case truncate
        /// What it takes to resume is recorded: written beside the old record, which is then renamed over.
        ///
        /// - Parameter bytes: How many bytes it vouches for; `nil` in a trace that an earlier version has saved.
        case record(bytes: Int64?)
        /// The file is complete.
        case complete
        /// The file is closed before it is complete.
        case stop
    }

    /// A call in the delegate queue.
    public struct DelegateCall: Sendable, Hashable, Codable {
        /// Its number in this trace, from 1.
        public var number: Int
        /// The method.
        public var method: DelegateMethod
        /// What it was called with. Only the event of its beginning has them; `nil` where there are none.
        public var arguments: Arguments?

        /// A call.
        ///
        /// - Parameters:
        ///   - number: Its number in this trace.
        ///   - arguments: What it was called with.
        public init(number: Int, method: DelegateMethod, arguments: Arguments? = nil) {
            self.number = number
            self.method = method
            self.arguments = arguments
        }
    }

    /// A method of a delegate, or a handler.
    public enum DelegateMethod: String, Sendable, Hashable, Codable {
        case willPerformHTTPRedirection
        case didReceiveResponse = "didReceive response"
        case didReceiveChallenge = "didReceive challenge"
        case needNewBodyStream
        case needNewBodyStreamFrom
        case willBeginDelayedRequest
        case willCacheResponse
        case taskIsWaitingForConnectivity
        case willRestartUpload
        case didReceiveInformationalResponse
        case didReceiveData = "didReceive data"
        case didSendBodyData
        case didWriteData
        case didResumeAtOffset
        case didBecome
        case didOpenWithProtocol
        case didCloseWith
        case readClosedFor
        case writeClosedFor
        case didFinishCollecting
        case didFinishDownloading
        case didComplete
        case resumeDataHandler = "handler of resume data"
        case completionHandler = "completion handler"
        case continuation = "async result"
    }
}

extension TransferTrace.Kind {
    /// The kind without the users and passwords of the URLs in its texts.
    var withoutUsers: TransferTrace.Kind {
        mapTexts { URLPassword.hidden(in: $0, withUsersAs: TransferTrace.redacted) }
    }

    /// How many bytes its texts have.
    var textSize: Int {
        var size = 0
        _ = mapTexts { text in
            size += text.utf8.count
            return text
        }
        return size
    }

    /// The kind with its texts changed. Contents of bodies and messages are not texts.
    private func mapTexts(_ change: (String) -> String) -> TransferTrace.Kind {
        switch self {
        case .made(let method, let url): .made(method: change(method), url: change(url))
        case .waiting(let host): .waiting(host: change(host))
        case .dialling(let host): .dialling(host: change(host))
        case .lookUp(let host): .lookUp(host: change(host))
        case .resolved(let addresses): .resolved(addresses: addresses.map(change))
        case .handshake(let host): .handshake(host: change(host))
        case .handshakeFailed(let reason): .handshakeFailed(reason: change(reason))
        case .dialFailed(let reason): .dialFailed(reason: change(reason))
        case .requestHead(let head): .requestHead(head.mapTexts(change))
        case .interimHead(let head): .interimHead(head.mapTexts(change))
        case .responseHead(let head): .responseHead(head.mapTexts(change))
        case .exchangeFailed(let reason): .exchangeFailed(reason: change(reason))
        case .cookiesSent(let names): .cookiesSent(names: names.map(change))
        case .cookiesReceived(let names): .cookiesReceived(names: names.map(change))
        case .redirect(let url): .redirect(url: change(url))
        case .challenge(let schemes, let isProxy): .challenge(schemes: schemes.map(change), isProxy: isProxy)
        case .queued(let call): .queued(call.mapTexts(change))
        case .began(let call): .began(call.mapTexts(change))
        case .ended(let call): .ended(call.mapTexts(change))
        case .completed(let error): .completed(error: error.map(change))
        case .note(let text): .note(change(text))
        case .unknown(let name): .unknown(name: change(name))
        case .call, .message, .answer, .secured, .connected, .requestEnd, .bodySent, .bodyReceived, .frameSent,
            .frameReceived, .streamSent, .streamReceived, .decoded, .responseEnd, .switched, .abandoned, .localResponse,
            .held, .released, .cache, .credentials, .retry, .redial, .storing, .written, .file, .replaced:
            self
        }
    }
}

extension TransferTrace.DelegateCall {
    /// The call with the texts of its arguments changed.
    fileprivate func mapTexts(_ change: (String) -> String) -> TransferTrace.DelegateCall {
        TransferTrace.DelegateCall(number: number, method: method, arguments: arguments?.mapTexts(change))
    }
}

/// The fields of a head as they were recorded. They become texts when they are read.
struct TracedFields: Sendable, Hashable, Codable {
    private enum Form: Sendable {
        case wire(HeaderFields)
        case texts([TransferTrace.Field])
    }

    private let form: Form

    init(_ fields: [TransferTrace.Field]) {
        form = .texts(fields)
    }

    init(_ fields: HeaderFields, keepingSecrets keepsSecrets: Bool) {
        guard !keepsSecrets, Self.secrets.contains(where: { fields.contains($0) }) else {
            form = .wire(fields)
            return
        }
        form = .texts(
            fields.map { field in
                let isSecret = Self.secrets.contains(FieldName(field.name))
                return TransferTrace.Field(field.name, isSecret ? TransferTrace.redacted : field.value)
            })
    }

    init(from decoder: any Decoder) throws {
        form = .texts(try [TransferTrace.Field](from: decoder))
    }

    func encode(to encoder: any Encoder) throws {
        try fields.encode(to: encoder)
    }

    private static let secrets: [FieldName] = [
        "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "Authentication-Info",
        "Proxy-Authentication-Info",
    ]

    var fields: [TransferTrace.Field] {
        switch form {
        case .wire(let fields): fields.map { TransferTrace.Field($0.name, $0.value) }
        case .texts(let fields): fields
        }
    }

    /// The fields with their values changed.
    func mapValues(_ change: (String) -> String) -> TracedFields {
        TracedFields(fields.map { TransferTrace.Field($0.name, change($0.value)) })
    }

    static func == (left: TracedFields, right: TracedFields) -> Bool { left.fields == right.fields }

    func hash(into hasher: inout Hasher) { hasher.combine(fields) }
}
