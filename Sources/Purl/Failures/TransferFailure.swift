import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// Resume data, as an error carries it.
enum ErrorResumeData {
    case download(Data)
    case upload(Data)

    var entry: (key: String, value: Data) {
        switch self {
        case .download(let data): (NSURLSessionDownloadTaskResumeData, data)
        case .upload(let data): (NSURLSessionUploadTaskResumeData, data)
        }
    }
}

/// Everything that can end a transfer, and the one place where it becomes a `URLError`.
enum TransferFailure: Error {
    case cancelled
    /// The delegate has cancelled a challenge.
    case authenticationCancelled
    case sessionInvalidated
    /// The background session of the task could not have its folder.
    case sessionRefused(SessionRefusal)
    /// A task of a background session ended with the process that ran it.
    case endedWithProcess
    case notCached
    case url(TargetURI.Refusal)
    case request(EncodeError)
    case dial(DialError)
    /// The proxy that was asked for cannot be used.
    case proxy(ProxyFault)
    /// The proxy cannot be reached.
    case proxyDial(Endpoint, DialError)
    case exchange(ExchangeFailure)
    /// The request's body could not be read.
    case body(BodyFailure)
    /// No progress for `timeoutIntervalForRequest`.
    case stalled(seconds: TimeInterval)
    /// All of `timeoutIntervalForResource` is used.
    case tookTooLong(seconds: TimeInterval)
    /// The transfer was slower than the session allows.
    case tooSlow(bytesPerSecond: Int, interval: TimeInterval)
    /// The body is too large to be collected in memory.
    case oversizedBody(limit: Int)
    case tooManyRedirects(limit: Int)
    case redirect(Redirect.Fault)
    case unreadableResumeData(String)
    /// The content coding of the body is damaged, or its end is missing.
    case coding(DecodeError)
    /// The response to the request for the rest is not the resource.
    case cannotResume(status: Int)
    /// A 206 to a request that asked for no range.
    case unaskedPartialContent
    /// The body ended, but the resource is longer.
    case incomplete(received: Int64, total: Int64)
    /// More bytes arrived than the resource has.
    case surplus(total: Int64)
    case file(FileFailure)
    /// A `data:` URL cannot be read.
    case dataURL(DataURL.Fault)
    case webSocket(WebSocketFailure)
    case stream(StreamFailure)
    /// There is no secure connection, or none that may be used.
    case tls(TLSFailure)
    /// A resumable upload cannot continue.
    case upload(UploadFault)
    /// A protocol of the user's own has failed with this error.
    case ofProtocol(any Error)

    /// The error as users receive it: that of a protocol of their own as it is, every other as a `URLError`.
    func error(for url: URL?, resumeData: ErrorResumeData? = nil) -> any Error {
        guard case .ofProtocol(let error) = self else { return urlError(for: url, resumeData: resumeData) }
        guard let entry = resumeData?.entry, let error = error as? URLError else { return error }
        return URLError(error.code, userInfo: error.userInfo.merging([entry.key: entry.value]) { $1 })
    }

    /// Whether the error has room for resume data: not every error of a protocol has.
    var canCarryResumeData: Bool {
        guard case .ofProtocol(let error) = self else { return true }
        return error is URLError
    }

    /// Whether the task was cancelled, rather than failed.
    var isCancellation: Bool {
        if case .cancelled = self { return true }
        return false
    }

    /// How the file of an upload differs from the one whose beginning was sent, where that is the failure.
    var changeOfFile: BodyFailure? {
        switch self {
        case .body(let failure), .exchange(.body(let failure)):
            if case .fileReplaced = failure { return failure }
            return nil
        default: return nil
        }
    }

    /// Whether the server could not be reached, or did not respond.
    var isUnreachability: Bool {
        switch self {
        case .dial, .proxyDial, .stalled, .exchange(.closedBeforeResponse), .exchange(.closedDuringResponse),
            .exchange(.truncated):
            true
        default: false
        }
    }

    /// The failure as a `URLError`.
    ///
    /// - Parameters:
    ///   - url: The current URL.
    ///   - resumeData: What it takes to resume, where that is possible.
    func urlError(for url: URL?, resumeData: ErrorResumeData? = nil) -> URLError {
        let (code, sentence, underlying) = explanation
        var info = thrownByConnector?.userInfo ?? [:]
        if let url = refusedURL ?? url {
            info[NSURLErrorFailingURLErrorKey] = url
            // The value of NSURLErrorFailingURLStringErrorKey, which is deprecated and still read by `failureURLString`. It
            // is what people read; programs take the URL.
            info["NSErrorFailingURLStringKey"] = url.shownText
        }
        if let underlying { info[NSUnderlyingErrorKey] = underlying.asUnderlying }
        if case .endedWithProcess = self {
            let reason = URLError.BackgroundTaskCancelledReason.userForceQuitApplication
            info[NSURLErrorBackgroundTaskCancelledReasonKey] = reason.rawValue
        }
        if case .tls(let failure) = self, let trust = failure.trust {
            info[NSURLErrorFailingURLPeerTrustErrorKey] = trust
        }
        if let entry = resumeData?.entry { info[entry.key] = entry.value }
        // A sentence may quote what the server sent.
        return URLError(code, reason: URLPassword.hidden(in: sentence), userInfo: info)
    }

    /// A URL that was never loaded, where that is what failed.
    private var refusedURL: URL? {
        if case .redirect(.toLocalSocket(let url)) = self { return url }
        return nil
    }

    /// The error of a connector or a resolver, where it is the transfer's own.
    private var thrownByConnector: URLError? {
        switch self {
        case .dial(let error), .proxyDial(_, let error): error.thrown as? URLError
        default: nil
        }
    }

    private typealias Explanation = (code: URLError.Code, sentence: String, underlying: (any Error)?)

    private var explanation: Explanation {
        switch self {
        case .cancelled:
            (.cancelled, "The transfer was cancelled.", nil)
        case .authenticationCancelled:
            (.cancelled, "The authentication was cancelled, and the transfer with it.", nil)
        case .sessionInvalidated:
            (.cancelled, "The task was made by a session that has been invalidated.", nil)
        case .sessionRefused(.inUse(let identifier)):
            (
                .backgroundSessionInUseByAnotherProcess,
                "A background session with the identifier “\(identifier)” exists already, here or in another process.",
                nil
            )
        case .sessionRefused(.untrusted(let place, let distrust)):
            (
                .cannotOpenFile,
                "\(place.path) \(distrust), so that the tasks in it may not be this user's. They are not loaded.",
                distrust.systemError
            )
        case .sessionRefused(.file(let failure)), .file(let failure):
            (failure.code, "\(failure)", failure.underlying)
        case .endedWithProcess:
            (.cancelled, "The process that ran the background transfer ended before it did.", nil)
        case .notCached:
            (.resourceUnavailable, "The request may only be served from a cache, and nothing is cached.", nil)
        case .url(let refusal): Self.explain(refusal)
        case .request(let error):
            (.badURL, "The request cannot be sent: \(error)", error)
        case .dial(let error): Self.explain(error)
        case .proxy(let fault):
            (.cannotConnectToHost, "The proxy cannot be used: \(fault).", fault)
        case .proxyDial(_, let error) where thrownByConnector != nil: Self.explain(error)
        case .proxyDial(let endpoint, let error):
            (
                .cannotConnectToHost,
                "The proxy “\(endpoint)” cannot be reached: \(Self.explain(error).sentence)",
                Self.explain(error).underlying
            )
        case .exchange(let failure): Self.explain(failure)
        case .body(let failure): Self.explain(failure)
        case .stalled(let seconds):
            (.timedOut, "The transfer made no progress for \(Self.text(seconds)).", nil)
        case .tookTooLong(let seconds):
            (.timedOut, "The transfer took more than the \(Self.text(seconds)) it had in all.", nil)
        case .tooSlow(let bytesPerSecond, let interval):
            (
                .timedOut,
                "The transfer moved fewer than \(bytesPerSecond) bytes a second for \(Self.text(interval)).",
                nil
            )
        case .oversizedBody(let limit):
            (
                .dataLengthExceedsMaximum, "The body has more than the \(limit) bytes that may be collected in memory.",
                nil
            )
        case .tooManyRedirects(let limit):
            (.httpTooManyRedirects, "The server redirected more than \(limit) times.", nil)
        case .redirect(.toNowhere(let location)):
            (.redirectToNonExistentLocation, "The server redirected to “\(location)”, which is not a URL.", nil)
        case .redirect(.toLocalSocket):
            (
                .unsupportedURL, "The server redirected to a local socket, which only a request of your own may name.",
                nil
            )
        case .unreadableResumeData(let reason):
            (.cannotDecodeRawData, "The resume data cannot be used: \(reason).", nil)
        case .coding(let error):
            (.cannotDecodeContentData, "The body cannot be decoded: \(error)", error)
        case .cannotResume(let status):
            (
                .badServerResponse,
                "The server responded with \(status) to the request for the rest of the file; the bytes on disk were kept.",
                nil
            )
        case .unaskedPartialContent:
            (.badServerResponse, "The server sent a part of the resource, though all of it was asked for.", nil)
        case .incomplete(let received, let total):
            (.networkConnectionLost, "The body ended after \(received) of \(total) bytes.", nil)
        case .dataURL(.noData):
            (.badURL, "The data: URL has no comma, and so no data.", nil)
        case .dataURL(.malformedType):
            (.badURL, "The media type of the data: URL is malformed.", nil)
        case .dataURL(.undecodable):
            (.badURL, "The content of the data: URL is not valid Base64.", nil)
        case .webSocket(let failure): failure.explanation
        case .stream(let failure): failure.explanation
        case .tls(let failure): failure.explanation
        case .upload(let fault): Self.explain(fault)
        case .ofProtocol(let error):
            ((error as? URLError)?.code ?? .unknown, "The protocol that loaded the request failed: \(error)", error)
        case .surplus(let total):
            (.badServerResponse, "The server sent more than the \(total) bytes it had announced.", nil)
        }
    }

    private static func explain(_ fault: UploadFault) -> Explanation {
        switch fault {
        case .oversized(let maximum):
            (.dataLengthExceedsMaximum, "The server takes no more than \(maximum) bytes.", nil)
        case .refused(let status):
            (
                .badServerResponse,
                "The server responded with \(status) when it was asked how much of the upload it has.", nil
            )
        case .beyondEnd(let offset, let length):
            (.badServerResponse, "The server has \(offset) bytes of an upload of \(length).", nil)
        case .neverSent(let offset, let sent):
            (
                .badServerResponse, "The server has \(offset) bytes of an upload of which \(sent) have been sent.", nil
            )
        case .completeAt(let offset, let length):
            (
                .badServerResponse,
                "The server reports an upload of \(length) bytes as complete, and has \(offset) of them.", nil
            )
        case .forbidden(let status):
            (
                .userAuthenticationRequired,
                "The server responded with \(status): it does not let the upload continue with these credentials.", nil
            )
        case .unplaced(let status):
            (
                .badServerResponse,
                "The server responded with \(status), but not how much of the upload it has, or where.", nil
            )
        }
    }

    private static func explain(_ refusal: TargetURI.Refusal) -> Explanation {
        switch refusal {
        case .noURL: (.unsupportedURL, "The request has no URL.", nil)
        case .noHost: (.badURL, "The URL names no host.", nil)
        case .badAuthority: (.badURL, "The URL's host or port cannot be read.", nil)
        case .secureScheme(let scheme):
            (
                .unsupportedURL,
                "“\(scheme)” needs a TLS provider, and the session has none: \(TLSFailure.howToProvide).", nil
            )
        case .wrongTask(let scheme) where scheme == "ws" || scheme == "wss":
            (.unsupportedURL, "“\(scheme)” is for WebSocket tasks.", nil)
        case .wrongTask(Origin.streamScheme):
            (
                .unsupportedURL, "“\(Origin.streamScheme)” stands for streams, which are opened to a host and a port.",
                nil
            )
        case .wrongTask(let scheme):
            (.unsupportedURL, "“\(scheme)” is not for WebSocket tasks, which open “ws” URLs.", nil)
        case .unknownScheme(let scheme):
            (
                .unsupportedURL,
                "The scheme “\(scheme)” is not supported; Purl loads “http”, and “https” with a TLS provider.", nil
            )
        }
    }

    private static func explain(_ error: DialError) -> Explanation {
        switch error {
        case .resolve(.noSuchName(let host)):
            return (.cannotFindHost, "No host is named “\(host)”.", nil)
        case .resolve(.failed(let host, _, let reason)):
            return (.dnsLookupFailed, "The name “\(host)” could not be looked up: \(reason).", nil)
        case .resolve(.thrown(let host, let thrown)):
            return explain(thrown, .dnsLookupFailed, "The name “\(host)” could not be looked up")
        case .resolve(.notAnAddress(let host, let text)):
            return (
                .dnsLookupFailed, "The resolver gave “\(text)” for “\(host)”, which is not an address in digits.", nil
            )
        case .connector(let thrown):
            return explain(thrown, .cannotConnectToHost, "The connector made no connection")
        case .unusable(let reason):
            return (.cannotConnectToHost, "The connector returned an unusable connection: \(reason).", nil)
        case .connect(let failures):
            let noRoute: Set<Int32> = [ENETUNREACH, ENETDOWN]
            let isOffline = !failures.isEmpty && failures.allSatisfy { noRoute.contains($0.error.code) }
            return (
                isOffline ? .notConnectedToInternet : .cannotConnectToHost,
                "No connection could be made: \(error).", failures.last?.error
            )
        }
    }

    /// What a connector or a resolver has thrown: a `URLError` as it is, with a sentence where it has none.
    private static func explain(_ thrown: ThrownError, _ code: URLError.Code, _ failure: String) -> Explanation {
        guard let error = thrown.shown as? URLError else {
            return (code, "\(failure): \(thrown.error.reason).", thrown)
        }
        let underlying = error.userInfo[NSUnderlyingErrorKey] as? any Error
        let reason = error.userInfo[NSLocalizedFailureReasonErrorKey] as? String
        return (error.code, reason ?? underlying.map { "\(failure): \($0.reason)." } ?? "\(failure).", underlying)
    }

    private static func explain(_ failure: BodyFailure) -> Explanation {
        (failure.code, failure.sentence, failure.underlying)
    }

    private static func explain(_ failure: ExchangeFailure) -> Explanation {
        switch failure {
        case .closedBeforeResponse(let error, _):
            (.networkConnectionLost, "The connection was lost before the server responded.", error)
        case .body(let failure): explain(failure)
        case .closedDuringResponse(let error):
            (.networkConnectionLost, "The connection was lost in the middle of the response.", error)
        case .truncated:
            (
                .networkConnectionLost, "The connection ended without TLS's close_notify; the response may be cut off.",
                nil
            )
        case .security(let error): TLSFailure.library(TLSError(error)).explanation
        case .unaskedUpgrade:
            (.badServerResponse, "The server switched to a protocol that the request had not asked for.", nil)
        case .tooManyInterimResponses:
            (.badServerResponse, "The server sent too many interim responses.", nil)
        case .malformed(let error):
            switch error.kind {
            case .malformedHead, .framing:
                (.badServerResponse, "The server's response is not valid HTTP: \(error)", error)
            case .limitExceeded:
                (.cannotParseResponse, "The server's response exceeds a limit: \(error)", error)
            case .chunk:
                (.cannotDecodeRawData, "The chunked body is broken: \(error)", error)
            case .prematureEnd:
                (.networkConnectionLost, "The connection was lost in the middle of the response.", nil)
            }
        }
    }

    private static func text(_ seconds: TimeInterval) -> String {
        let rounded = (seconds * 1000).rounded() / 1000
        return rounded == 1 ? "1 second" : "\(rounded.formatted(.number.grouping(.never))) seconds"
    }
}
