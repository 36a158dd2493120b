import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// What a transaction's request is for the upload that it belongs to.
enum UploadRequest: Sendable {
    /// Any request with all of the body, which may create an upload resource.
    case whole
    /// The same in a form that the server has asked for: with a first part, or in another version of the protocol.
    case first(UploadPart)
    /// `HEAD`: asks the upload resource for its offset.
    case offset
    /// `PATCH`: appends to the upload resource.
    case rest(UploadPart)
}

/// One upload across its requests: the one that creates it, and those that resume it where it stopped
/// (draft-ietf-httpbis-resumable-upload).
///
/// The transfer owns it, and each transaction tells it what was sent and what has arrived. ``UploadState`` decides what
/// follows; this turns its decisions into requests and bodies.
@NetworkActor
final class ResumableUpload {
    /// What follows a response, and the state that the upload then has.
    struct Continuation {
        let step: UploadStep
        fileprivate let state: UploadState
        fileprivate let resource: URL?
        /// The response is to all of the content, or the rest of it.
        fileprivate let isToContent: Bool
        /// The failure that was the response to all of the content, where the step delivers it in place of a later answer.
        let failure: HTTPURLResponse?

        /// Whether the response means what it would mean to any other request.
        var isOrdinary: Bool {
            switch step {
            case .deliver: failure == nil
            case .follow, .proceed, .giveUp: true
            case .ask, .append, .create, .fail: false
            }
        }
    }

    /// A request that follows.
    struct Next {
        let request: URLRequest
        let body: RequestBody
        let purpose: UploadRequest
        /// The history it begins with; `nil` continues that of the request before it.
        var history: TransactionHistory?
        /// How long it waits before it is sent.
        var delay: Duration?
    }

    /// A request that creates an upload, and what came before it.
    private struct Creation {
        let request: URLRequest
        let history: TransactionHistory
    }

    private let body: RequestBody
    private let original: URLRequest
    /// How many requests in a row may bring no progress; `nil` for any number.
    private let patience: Int?
    /// The version that requests name; the server's, once it has offered an upload resource.
    private var version: UploadVersion?
    private var creation: Creation
    private var state: UploadState?
    /// The upload resource, while the upload can be resumed with it.
    private var resource: URL?
    /// The file as it was when it was first sent.
    private var file: SentFile?
    /// The failure that was the response to all of the content: the server may be asked whether it has it nonetheless.
    private var failure: HTTPURLResponse?
    /// How often the upload has started over because its file changed.
    private var restarts = 0

    private static let maximumRestarts = 3

    /// - Parameter request: The task's request, without a body of its own.
    /// - Returns: `nil` where the upload is to be like any other request: the session wants that, it has no content, or
    ///   the program speaks the protocol by itself.
    init?(of body: RequestBody, _ request: URLRequest, in session: URLSession) {
        switch session.settings.resumableUploads {
        case .never: return nil
        case .automatic: version = nil
        case .always: version = session.settings.resumableUploadVersion.version
        }
        if case .none = body { return nil }
        if request.headerLines.contains(where: { UploadFields.contains(FieldName($0.name)) }) { return nil }
        self.body = body
        original = request
        patience = Self.patience(in: session)
        creation = Creation(request: request, history: TransactionHistory(upload: body))
    }

    /// The upload that another task has left.
    init(_ resume: UploadResumeData, in session: URLSession) {
        switch resume.content {
        case .file(let path, let sent):
            body = .file(URL(fileURLWithPath: path))
            file = sent.withoutIdentity
        case .data(let data): body = .data(data)
        case .stream: body = .streamFromDelegate
        }
        original = resume.originalRequest.request ?? .unreadable
        let creating = resume.creatingRequest.request ?? original
        patience = Self.patience(in: session)
        version = UploadVersion(rawValue: resume.interopVersion)
        creation = Creation(
            request: creating,
            history: TransactionHistory(upload: body).followed(from: original, to: creating, Authenticator()))
        resource = URL(string: resume.resource)
        state = UploadState(
            resuming: resume.length, acknowledged: resume.offset, sent: resume.sent, version: version,
            patience: patience)
    }

    /// A background session resumes for as long as the task has time.
    private static func patience(in session: URLSession) -> Int? { session.settings.isBackground ? nil : 3 }

    // MARK: Sending

    /// Where the counts of bytes sent begin with a request, and the length of all of the content.
    func count(with purpose: UploadRequest, of body: OutgoingBody) -> (start: Int64, total: Int64?)? {
        switch purpose {
        case .whole: (0, body.length)
        case .first: (0, state?.length)
        case .offset: nil
        case .rest(let part): (part.offset, state?.length)
        }
    }

    /// A request is about to be sent: adds the fields that it needs.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - history: What came before it.
    ///   - body: What it carries.
    func send(_ request: URLRequest, _ history: TransactionHistory, _ body: OutgoingBody, _ fields: inout HeaderFields)
    {
        switch history.uploadRequest {
        case .whole:
            creation = Creation(request: request, history: history)
            resource = nil
            if case .file(let upload) = body { file = upload.state }
            state = UploadState(creating: body.length, version: version, patience: patience)
            guard version != nil else { return }
            fields[.uploadComplete] = UploadFields.text(true)
            fields[.uploadLength] = body.length.map { String($0) }
        case .first(let part):
            state?.beginPart()
            fields[.uploadComplete] = UploadFields.text(part.isLast)
            fields[.uploadLength] = state?.length.map { String($0) }
        case .offset:
            break
        case .rest(let part):
            state?.beginPart()
            fields[.uploadComplete] = UploadFields.text(part.isLast)
            fields[.uploadOffset] = String(part.offset)
        }
        fields[.uploadDraftInteropVersion] = version?.fieldValue
    }

    /// So many bytes of the content have gone out with the current request.
    func didSend(_ count: Int) {
        state?.send(Int64(count))
    }

    // MARK: Receiving

    /// Takes an interim response.
    ///
    /// - Returns: What it makes necessary; `nil` when the request continues.
    func receiveInterim(_ head: ResponseHead, to request: URLRequest) -> UploadStep? {
        guard head.status == 104, var state else { return nil }
        let fields = UploadFields(head.fields)
        let location = location(of: head, to: request)
        let wasResumable = state.isResumable
        let step = state.receiveInterim(fields, namesResource: location != nil)
        self.state = state
        if !wasResumable, state.isResumable {
            resource = location
            version = fields.version ?? version
        }
        if case .proceed = step { return nil }
        return step
    }

    /// What a final response means. Nothing changes before it is taken.
    func continuation(after head: ResponseHead, to request: URLRequest, _ purpose: UploadRequest) -> Continuation? {
        guard var state else { return nil }
        let location = location(of: head, to: request)
        let wasResumable = state.isResumable
        let step = state.receive(status: head.status, UploadFields(head.fields), namesResource: location != nil)
        let resource: URL? =
            switch purpose {
            // It may have moved.
            case .offset, .rest: request.url?.withoutCredentials
            case .whole, .first: state.isResumable ? (wasResumable ? self.resource : location) : nil
            }
        var delivered: HTTPURLResponse?
        if case .offset = purpose, case .deliver = step { delivered = failure }
        let isToContent = if case .offset = purpose { false } else { state.part.isLast }
        return Continuation(
            step: step, state: state, resource: resource, isToContent: isToContent, failure: delivered)
    }

    /// The upload continues.
    ///
    /// - Parameter response: The response that it continues after.
    func take(_ continuation: Continuation, after response: ReceivedResponse) {
        state = continuation.state
        if case .fail(let fault) = continuation.step {
            // What has responded may not be the upload resource: it stays where it was.
            if !fault.leavesUpload { resource = nil }
            return
        }
        resource = continuation.resource
        switch continuation.step {
        case .ask where continuation.isToContent && response.head.status >= 500:
            failure = response.response as? HTTPURLResponse
        case .ask: break
        case .append: failure = nil
        case .create(_, let version): self.version = version ?? self.version
        case .proceed, .follow, .deliver, .giveUp, .fail: break
        }
    }

    /// The request has ended without a response.
    ///
    /// - Returns: What follows; `nil` when the failure is the task's.
    func stepAfterCut() -> UploadStep? {
        guard var state else { return nil }
        let step = state.receiveCut()
        self.state = state
        guard case .ask = step else { return nil }
        return step
    }

    /// The task has its response.
    func end() {
        state?.end()
        resource = nil
    }

    private func location(of head: ResponseHead, to request: URLRequest) -> URL? {
        guard let url = request.url, let location = head.fields.values(of: .location).first else { return nil }
        return Redirect.uploadResource(location, from: url)
    }

    // MARK: What follows

    /// The request for a step; `nil` when it is not one for a request.
    func next(for step: UploadStep) -> Next? {
        switch step {
        case .ask(let attempt):
            guard let resource else { return nil }
            return Next(
                request: request("HEAD", at: resource), body: .none, purpose: .offset,
                delay: Self.delay(before: attempt))
        case .append(let part):
            guard let resource else { return nil }
            var request = request("PATCH", at: resource)
            request.setValue("application/partial-upload", forHTTPHeaderField: "Content-Type")
            return Next(request: request, body: self.body(of: part), purpose: .rest(part))
        case .create(let part, _):
            return Next(
                request: creation.request, body: body(of: part), purpose: .first(part), history: creation.history)
        case .proceed, .follow, .deliver, .giveUp, .fail: return nil
        }
    }

    /// Whether a server has begun to take it, and it can be resumed.
    var isBegun: Bool { resource != nil }

    /// The request that deletes the upload resource, where there is one; nothing can be resumed after it.
    ///
    /// Only of the origin that was sent the upload: no server chooses what is deleted elsewhere.
    var deletion: URLRequest? {
        guard let resource, let version, state?.isResumable == true, !creation.history.hasLeftOrigin,
            creation.request.url?.isSameOrigin(as: resource) == true
        else { return nil }
        var request = request("DELETE", at: resource)
        request.setValue(version.fieldValue, forHTTPHeaderField: FieldName.uploadDraftInteropVersion.description)
        return request
    }

    /// The request with which the upload that another task has left is continued, and its history.
    var beginning: (URLRequest, TransactionHistory) {
        guard let next = next(for: .ask(attempt: 0)) else { return (original, creation.history) }
        let history = creation.history.followed(from: creation.request, to: next.request, Authenticator())
        return (next.request, history.uploading(next.body, next.purpose))
    }

    /// The upload starts over, because the file is not the one whose beginning was sent.
    ///
    /// - Returns: The first request; `nil` when that has happened too often.
    func restart() -> Next? {
        guard restarts < Self.maximumRestarts else { return nil }
        restarts += 1
        state = nil
        resource = nil
        failure = nil
        return Next(
            request: original, body: body, purpose: .whole, history: TransactionHistory(upload: body))
    }

    /// The first one that brings no progress is followed at once.
    private static func delay(before attempt: Int) -> Duration? {
        attempt < 2 ? nil : Deadlines.redialDelay(after: attempt - 2)
    }

    /// Whether the rest of the body can be sent: it is stored, or there is a delegate to ask for it.
    func canSendRest(hasDelegate: Bool) -> Bool { body.isStored || hasDelegate }

    private func body(of part: UploadPart) -> RequestBody {
        part.offset == 0 && part.isLast ? body : .part(of: body, part, file: file)
    }

    /// A request to the upload resource: the request that created it, without what describes its content.
    private func request(_ method: String, at url: URL) -> URLRequest {
        creation.request.toUploadResource(method, at: url)
    }

    // MARK: Resume data

    /// What it takes to resume the upload in another task, without a digest; `nil` when it cannot be resumed.
    var resumeData: UploadResumeData? {
        guard let state, let resource, let version else { return nil }
        let content: UploadResumeData.Content
        switch body {
        case .file(let url):
            guard let file else { return nil }
            content = .file(path: url.path, file)
        case .data(let data): content = .data(data)
        case .stream, .sequence, .streamFromDelegate: content = .stream
        case .none, .part: return nil
        }
        // A part may be acknowledged before all of it has gone out.
        let offset = min(state.acknowledged, state.sent ?? .max)
        return UploadResumeData(
            originalRequest: StoredRequest(original), creatingRequest: StoredRequest(creation.request),
            resource: resource.absoluteString, interopVersion: version, offset: offset, sent: state.sent,
            length: state.length, content: content)
    }
}
