import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// A response, and where its body comes from.
struct ReceivedResponse {
    /// What users receive.
    let response: URLResponse
    /// What the rules apply to. A response that did not arrive by HTTP is treated as a 200.
    let head: ResponseHead
    let framing: BodyFraming
    let source: any ResponseSource

    /// The decoder of the body, where it has a content coding. What a cache or a protocol delivers is decoded already.
    @NetworkActor var coding: CodedBody? { source.isRemote ? CodedBody(head) : nil }

    /// Whether a body that is not wanted is read to its end, so that the connection can be used again.
    var isShort: Bool {
        switch framing {
        case .none: true
        case .length(let length): length <= 65_536
        case .chunked, .untilClose: false
        }
    }

    /// The same response, whose body comes from another source.
    func from(_ source: any ResponseSource) -> ReceivedResponse {
        ReceivedResponse(response: response, head: head, framing: framing, source: source)
    }

    /// The length of the content; `nil` where the framing does not carry it, or it is that of a coded body.
    func contentLength(isCoded: Bool) -> Int64? {
        guard !isCoded else { return nil }
        return switch framing {
        case .none: 0
        case .length(let length): length
        case .chunked, .untilClose: nil
        }
    }
}

/// What a response means for the transaction that receives it: one rule, without I/O.
///
/// In this order: an expectation that the server does not know (417), a challenge, what the cache makes of it, what it
/// means for a resumable upload, a redirect, the rest of a resumed body, and at last the response as the result.
enum ResponseDecision {
    /// RFC 9110 §10.1.1: the request is sent again without its expectation.
    case sendWithoutExpectation
    /// The server, or the proxy, wants credentials.
    case authenticate(AuthenticationPeer)
    /// The stored response is the result. The server has confirmed it, if it is to be stored again.
    case useStored(CachedURLResponse, age: Int64?, isConfirmed: Bool)
    /// RFC 9111 §4.3.4: the 304 does not describe the stored response, so the request is sent again without conditions.
    case sendWithoutConditions
    /// The server redirects to this request.
    case redirect(URLRequest)
    /// The body continues that of the storage.
    case append(ResumedPart)
    /// The body is the resource, and replaces what the storage holds.
    case replace
    /// RFC 9110 §15.5.17: the storage holds all of the resource already.
    case complete
    /// The server has not acted on `If-Range`, and has the same version: the rest is requested with `If-Match`.
    case requestRestOfSame
    /// The server does not repeat the date that names the version: the rest is requested with bytes that are there, which have
    /// to agree.
    case requestRestWithOverlap
    /// The response to a range request cannot be used: all of the resource is requested.
    case requestWhole
    /// The response is not the end of a resumable upload: another request follows, or the upload fails.
    case continueUpload(ResumableUpload.Continuation)
    /// The response is the result: its body goes to the delegate or the handler.
    case deliver
    case fail(TransferFailure)

    /// What the decision takes into account besides the response.
    struct Circumstances {
        var request: URLRequest
        /// The session's fields, for those that the request does not set.
        var additionalFields = AdditionalFields([:])
        /// Where the response comes from.
        var provenance: Provenance
        /// The proxy that passed the request on, where there is one.
        var proxy: AuthenticationPeer?
        /// False once the server has refused to meet the request's expectation.
        var mayExpect = true
        /// The body of the request can be sent once more.
        var canSendBodyAgain = true
        /// How many redirects have led to the request.
        var redirects = 0
        /// How many are followed.
        var maximumRedirects = URLSessionConfiguration.Limits().redirects
        var cache = CacheJudgement.irrelevant
        /// What the response means for a resumable upload, where it belongs to one.
        var upload: ResumableUpload.Continuation?
        var storage = StorageState.none
        /// Why any other response than a switch of protocols is a failure, where it is.
        var refusal: ((_ status: Int) -> TransferFailure)?

        fileprivate func carries(_ name: FieldName) -> Bool { request.carries(name, or: additionalFields) }
    }

    /// Where a response comes from.
    enum Provenance {
        case server
        /// The cache: its redirects are followed like the server's.
        case cache
        /// A URL, or this process: it is the result as it is.
        case local
        /// A protocol of the user's, which decides where it may be stored: it is the result as it is.
        case userProtocol(URLCache.StoragePolicy)
    }

    /// What the cache makes of a response.
    enum CacheJudgement {
        case irrelevant
        /// The stored response, made as fresh as the 304 that confirms it.
        case confirmed(CachedURLResponse)
        /// A 304 that describes another response than the stored one.
        case mismatched
        /// The stored response may stand in for a server error (RFC 5861 §4).
        case replaced(CachedURLResponse, age: Int64)
    }

    /// What a transfer keeps its body in.
    enum StorageState {
        /// Nothing: the body goes to a delegate or a handler.
        case none
        /// A file that does not exist yet.
        case newFile
        /// A sink, or the partial file of a download.
        ///
        /// - Parameters:
        ///   - point: Where the request asked to continue.
        ///   - holdsResumeData: The file is still what the resume data describes.
        case open(isDownload: Bool, point: ResumePoint?, holdsResumeData: Bool)

        var exists: Bool {
            if case .none = self { return false }
            return true
        }

        var isOpen: Bool {
            if case .open = self { return true }
            return false
        }

        /// Where the request asks to continue.
        var point: ResumePoint? {
            if case .open(_, let point, _) = self { return point }
            return nil
        }
    }

    init(_ head: ResponseHead, framing: BodyFraming, in circumstances: Circumstances) {
        switch circumstances.provenance {
        case .server: self = Self.fromServer(head, framing, circumstances)
        case .cache: self = Self.redirectOrResult(head, framing, circumstances)
        case .local, .userProtocol: self = Self.result(head, framing, circumstances)
        }
    }

    /// Whether the response itself is what the cache may store, if any is.
    var isOfferedToCache: Bool {
        switch self {
        case .sendWithoutExpectation, .authenticate, .useStored, .sendWithoutConditions, .continueUpload: false
        case .redirect, .append, .replace, .complete, .requestRestOfSame, .requestRestWithOverlap, .requestWhole,
            .deliver, .fail:
            true
        }
    }

    private static func fromServer(
        _ head: ResponseHead, _ framing: BodyFraming, _ circumstances: Circumstances
    ) -> ResponseDecision {
        let request = circumstances.request
        if head.status == 417, circumstances.mayExpect, circumstances.carries(.expect), circumstances.canSendBodyAgain {
            return .sendWithoutExpectation
        }
        if let challenger = challenger(of: head, to: request, through: circumstances.proxy) {
            return .authenticate(challenger)
        }
        switch circumstances.cache {
        case .irrelevant: break
        case .confirmed(let stored): return .useStored(stored, age: nil, isConfirmed: true)
        case .mismatched: return .sendWithoutConditions
        case .replaced(let stored, let age): return .useStored(stored, age: age, isConfirmed: false)
        }
        if let continuation = circumstances.upload, !continuation.isOrdinary { return .continueUpload(continuation) }
        return redirectOrResult(head, framing, circumstances)
    }

    /// Which peer asks for credentials with this response. A 407 counts only where there is a proxy: a server that sends
    /// one gets no credentials for it.
    static func challenger(
        of head: ResponseHead, to request: URLRequest, through proxy: AuthenticationPeer?
    ) -> AuthenticationPeer? {
        switch head.status {
        case 401 where request.mayCarrySecrets: (try? TargetURI(request.url)).map { .server($0.origin) }
        case 407 where request.mayCarrySecrets: proxy
        default: nil
        }
    }

    private static func redirectOrResult(
        _ head: ResponseHead, _ framing: BodyFraming, _ circumstances: Circumstances
    ) -> ResponseDecision {
        do throws(Redirect.Fault) {
            if let url = circumstances.request.url,
                let next = try Redirect.next(after: circumstances.request, at: url, response: head)
            {
                return circumstances.redirects < circumstances.maximumRedirects
                    ? .redirect(next) : .fail(.tooManyRedirects(limit: circumstances.maximumRedirects))
            }
        } catch {
            return .fail(.redirect(error))
        }
        return result(head, framing, circumstances)
    }

    /// What a response means that is the final one, also for one whose redirect or challenge is not followed.
    static func result(
        _ head: ResponseHead, _ framing: BodyFraming, _ circumstances: Circumstances
    ) -> ResponseDecision {
        if let refusal = circumstances.refusal { return .fail(refusal(head.status)) }
        guard case .open(let isDownload, let point?, _) = circumstances.storage else {
            return whole(head, circumstances)
        }
        switch Resumability.judge(head, framing: framing, asked: point) {
        case .continues(let part): return .append(part)
        case .repeats: return .requestRestOfSame
        case .repeatsEarlier: return .requestRestWithOverlap
        case .replaces: return whole(head, circumstances)
        case .complete: return .complete
        case .unusable: return .requestWhole
        case .notTheResource: return isDownload ? .fail(.cannotResume(status: head.status)) : .deliver
        }
    }

    /// The response is not the rest of what the storage holds.
    private static func whole(_ head: ResponseHead, _ circumstances: Circumstances) -> ResponseDecision {
        switch circumstances.storage {
        case .none:
            return .deliver
        case .newFile:
            return head.status == 206 && !circumstances.carries(.range) ? .fail(.unaskedPartialContent) : .replace
        case .open(let isDownload, _, let holdsResumeData):
            if head.status == 206 { return .fail(.unaskedPartialContent) }
            if holdsResumeData, head.status != 200 { return .fail(.cannotResume(status: head.status)) }
            return isDownload || head.status == 200 ? .replace : .deliver
        }
    }
}

extension URLRequest {
    /// RFC 9110 §9.3.8: the response to TRACE repeats the request. No credentials are sent with it but those in the user's
    /// own fields.
    var mayCarrySecrets: Bool { method != .trace }
}
