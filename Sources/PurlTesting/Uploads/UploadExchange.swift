import Foundation
internal import PurlHTTP
internal import PurlIO

/// What a request to an ``UploadTarget`` needs of its connection.
@NetworkActor
protocol UploadConnection: AnyObject {
    /// Sends an interim response.
    func sendInterim(_ head: ResponseHead)

    /// Sends `100 Continue` to a client that expects it.
    func sendContinue()

    /// Sends the response to the current request, as if it were another one.
    func answer(_ reply: ResolvedReply, as request: ReceivedRequest?)

    /// Adds a route.
    func addRoute(_ path: String, _ reply: Reply)

    /// Lets something go wrong in the records of TLS; `nil` where there is no TLS.
    func perform(_ fault: Reply.RecordFault) -> ServerTLSTransport.Consequence?

    /// Ends the connection.
    func breakOff(_ ending: LoopbackServer.Ending)

    /// Reads no more of the request until ``continueBody()``.
    func holdBody()

    /// Continues to read the request.
    func continueBody()
}

/// One request to an ``UploadTarget``: what it asks for, the content it brings, and what goes wrong with it.
///
/// The connection calls ``begin()`` for the head of a request with content, then ``receive(_:)`` and ``end()``; for one
/// without content, ``end()`` alone.
@NetworkActor
final class UploadExchange {
    /// How far the request is.
    private enum Progress {
        case head
        /// Content is taken as it arrives.
        case content
        /// A fault lasts.
        case held(LoopTimer?)
        /// The response has begun, or the connection has ended.
        case over
    }

    private let target: UploadTarget
    private let request: ReceivedRequest
    private let head: RequestHead
    private let fields: UploadRequestFields
    private weak var connection: (any UploadConnection)?

    private var progress = Progress.head
    /// The upload that the request belongs to, once there is one.
    private var number: Int?
    private var taken = 0
    /// Content that arrived during a fault.
    private var held: [UInt8] = []
    private var bodyHasEnded = false
    private var changes = UploadChanges()

    /// A request whose head has arrived.
    init(
        _ request: ReceivedRequest, _ head: RequestHead, _ framing: BodyFraming, to target: UploadTarget,
        on connection: any UploadConnection
    ) {
        self.target = target
        self.request = request
        self.head = head
        self.connection = connection
        fields = UploadRequestFields(head, framing)
    }

    // MARK: The connection's side

    /// Looks at the head, before the content arrives.
    func begin() {
        if let upload = target.upload(at: request.path) {
            number = upload.number
            access(upload)
        } else {
            number = nil
            create()
        }
    }

    /// Takes content.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while !rest.isEmpty {
            switch progress {
            case .head, .over:
                return
            case .held:
                held.append(contentsOf: rest)
                return
            case .content:
                guard let number else { return }
                let upload = target.upload(number)
                let part = UnsafeRawBufferPointer(rebasing: rest.prefix(target.room(at: upload.offset)))
                guard allows(part.count, in: upload) else { return }
                target.append(part, to: number, by: request.number)
                taken += part.count
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
                reachOffset()
            }
        }
    }

    /// The request is complete.
    func end() {
        bodyHasEnded = true
        switch progress {
        case .head: begin()
        case .content: conclude()
        case .held, .over: break
        }
    }

    /// The connection is done with the request.
    func abandon() {
        if case .held(let timer) = progress { timer?.cancel() }
        progress = .over
        if let number { target.removeExchange(self, for: number) }
    }

    /// Another request to the same upload has arrived.
    func terminate() {
        breakOff(.cut)
    }

    // MARK: The request's head

    private func create() {
        switch head.method {
        case .options:
            answer(.status(204).field("Accept-Patch", "application/partial-upload").limits(target.limits, version: nil))
        case .get, .head:
            guard let content = target.lastContent else { return answer(.status(404)) }
            answer(.bytes(content))
        default:
            reach(.creation) { [self] in announce() }
        }
    }

    private func announce() {
        let version = fields.version.flatMap { target.versions.contains($0) && fields.isComplete != nil ? $0 : nil }
        guard version != nil || fields.isComplete != false else {
            return answer(.text("The upload cannot be made in parts.\n").status(400))
        }
        guard fields.areConsistent(at: 0, knownLength: nil) else { return answer(.inconsistentLength) }
        if let reply = refusal(at: 0) { return answer(reply) }
        let upload = target.create(request, head, version: version, length: fields.length(at: 0))
        number = upload.number
        target.beginExchange(self, for: upload.number)
        guard let version else { return takeContent() }
        connection?.addRoute(upload.path, .upload(to: target))
        var interim = ResponseHead(status: 104, reason: "Upload Resumption Supported", fields: [:])
        changes.setLocation(target.origin + upload.path)
        if let location = changes.location { interim.fields.append("Location", location) }
        if let stated = changes.interimVersion(version) {
            interim.fields.append("Upload-Draft-Interop-Version", "\(stated)")
        }
        if let limits = target.limits.value(version: version) { interim.fields.append("Upload-Limit", limits) }
        connection?.sendInterim(interim)
        reach(.announcement) { [self] in takeContent() }
    }

    private func access(_ upload: ReceivedUpload) {
        target.endExchange(for: upload.number)
        guard upload.isActive else { return answer(.status(404)) }
        switch head.method {
        case .head:
            reach(.offsetRetrieval) { [self] in stateOffset() }
        case .patch:
            reach(.append) { [self] in append() }
        case .delete:
            reach(.cancellation) { [self] in
                target.update(upload.number) { $0.deactivate(.cancelled) }
                answer(.status(204))
            }
        default:
            answer(.status(405).field("Allow", "HEAD, PATCH, DELETE"))
        }
    }

    private func stateOffset() {
        guard let upload else { return }
        var reply = Reply.status(204).field("Cache-Control", "no-store")
            .field("Upload-Complete", upload.state == .complete ? "?1" : "?0")
            .limits(target.limits, version: upload.version)
        if let offset = changes.offset(upload.offset) { reply = reply.field("Upload-Offset", "\(offset)") }
        if let length = upload.length { reply = reply.field("Upload-Length", "\(length)") }
        answer(reply)
    }

    private func append() {
        guard let upload, let version = upload.version else { return }
        // Before version 6, the media type was not asked for.
        if version >= 6, head.fields["Content-Type"] != "application/partial-upload" {
            return answer(.status(415).field("Accept-Patch", "application/partial-upload"))
        }
        guard let offset = fields.offset, fields.isComplete != nil else {
            return answer(.text("Upload-Offset or Upload-Complete is missing.\n").status(400))
        }
        if upload.state == .complete {
            return answer(.problem(400, "completed-upload", "The upload is already complete.").uploadState(upload))
        }
        guard offset == upload.offset, !changes.hasOffset else {
            let reply = Reply.problem(409, "mismatching-upload-offset", "The upload has another offset.")
                .field("Upload-Complete", "?0")
            let stated = changes.offset(upload.offset)
            return answer(stated.map { reply.field("Upload-Offset", "\($0)") } ?? reply)
        }
        guard fields.areConsistent(at: offset, knownLength: upload.length) else { return answer(.inconsistentLength) }
        if let reply = refusal(at: offset) { return answer(reply) }
        let length = fields.length(at: offset)
        target.update(upload.number) { $0.length = $0.length ?? length }
        target.beginExchange(self, for: upload.number)
        takeContent()
    }

    // MARK: Content

    private func takeContent() {
        progress = .content
        if !bodyHasEnded { connection?.sendContinue() }
        reachOffset()
        if bodyHasEnded, case .content = progress { conclude() }
    }

    private func reachOffset() {
        guard let upload else { return }
        if let version = upload.version, let interval = target.progressInterval, taken > 0,
            upload.offset.isMultiple(of: interval)
        {
            var interim = ResponseHead(status: 104, reason: "Upload Resumption Supported", fields: [:])
            interim.fields.append("Upload-Offset", "\(upload.offset)")
            interim.fields.append("Upload-Draft-Interop-Version", "\(version)")
            connection?.sendInterim(interim)
        }
        reach(.offset(upload.offset)) {}
    }

    /// Whether so many more bytes may be added. Otherwise the request gets its response.
    private func allows(_ count: Int, in upload: ReceivedUpload) -> Bool {
        if let length = upload.length, upload.offset + count > length {
            target.update(upload.number) { $0.deactivate(.invalid) }
            answer(.inconsistentLength)
            return false
        }
        let isTooLarge =
            upload.offset + count > target.limits.maximumSize ?? .max
            || taken + count > target.limits.maximumAppendSize ?? .max
        if isTooLarge { answer(.status(413).limits(target.limits, version: upload.version)) }
        return !isTooLarge
    }

    /// The response to a request that breaks a limit by what its head says.
    private func refusal(at offset: Int) -> Reply? {
        let limits = target.limits
        let length = fields.length(at: offset)
        let isTooLarge =
            length ?? 0 > limits.maximumSize ?? .max
            || fields.contentLength ?? 0 > limits.maximumAppendSize ?? .max
        let isTooSmall =
            length ?? .max < limits.minimumSize ?? 0
            || fields.isComplete == false && fields.contentLength ?? .max < limits.minimumAppendSize ?? 0
        guard isTooLarge || isTooSmall else { return nil }
        return .status(isTooLarge ? 413 : 400).limits(limits, version: fields.version)
    }

    private func conclude() {
        guard let upload else { return }
        if fields.isComplete == false {
            return reach(.part) { [self] in answerPart() }
        }
        if let length = upload.length, upload.offset != length { return answer(.inconsistentLength) }
        target.update(upload.number) { $0.complete() }
        reach(.completion) { [self] in answerCompletion() }
    }

    private func answerPart() {
        guard let upload, let version = upload.version else { return }
        let isCreation = upload.request.number == request.number
        var reply = Reply.status(isCreation ? 201 : 204).field("Upload-Complete", "?0")
            .limits(target.limits, version: version)
        if isCreation, let location = changes.location { reply = reply.field("Location", location) }
        // Up to version 6, every response states the offset.
        if version <= 6 { reply = reply.field("Upload-Offset", "\(upload.offset)") }
        answer(reply)
    }

    private func answerCompletion() {
        guard let upload else { return }
        let completion = target.completion(of: upload.number, request: request)
        let reply = upload.version == nil ? completion.reply : completion.reply.uploadState(upload)
        answer(reply.resolved(at: completion.index), as: completion.request)
    }

    // MARK: What goes wrong

    private func reach(_ phase: UploadTarget.Phase, then proceed: @escaping @NetworkActor () -> Void) {
        let place = number.map { target.upload($0).offset }
        for fault in target.takeFaults(at: phase) {
            switch fault {
            case .connection(let fault):
                return perform(fault, then: proceed)
            case .reply(let reply):
                return answer(reply)
            case .expiry:
                if let number { target.update(number) { $0.deactivate(.expired) } }
                return answer(.status(404))
            case .interimVersion(let version):
                changes.setInterimVersion(version)
            case .location(let location):
                changes.replaceLocation(location)
            case .offset(let offset):
                changes.setOffset(offset)
            case .truncation(let count):
                if let number { target.update(number) { $0.truncate(to: count) } }
            }
        }
        // Losing content leaves a request under way at another offset than it says.
        if case .content = progress, let number, target.upload(number).offset != place { return breakOff(.cut) }
        proceed()
    }

    private func perform(_ fault: Reply.Fault, then proceed: @escaping @NetworkActor () -> Void) {
        let before = progress
        switch fault {
        case .cut:
            breakOff(.cut)
        case .reset:
            breakOff(.reset)
        case .record(let fault):
            switch connection?.perform(fault) {
            case .sendingContinues, nil: proceed()
            case .nothingIsSent: hold(nil)
            case .streamEnds: breakOff(.cut)
            }
        case .pause(let duration):
            hold(EventLoop.shared.schedule(after: duration) { [weak self] in self?.release(to: before, proceed) })
        case .stall(let gate):
            let isOpen = gate?.arrive { [weak self] in
                NetworkActor.post { self?.release(to: before, proceed) }
            }
            if isOpen == true { proceed() } else { hold(nil) }
        }
    }

    private func hold(_ timer: LoopTimer?) {
        progress = .held(timer)
        connection?.holdBody()
    }

    private func release(to before: Progress, _ proceed: @NetworkActor () -> Void) {
        guard case .held = progress else { return }
        progress = before
        proceed()
        if case .content = progress {
            let bytes = held
            held = []
            bytes.withUnsafeBytes { receive($0) }
        }
        guard case .content = progress else { return }
        if bodyHasEnded { conclude() } else { connection?.continueBody() }
    }

    // MARK: Responses

    private var upload: ReceivedUpload? { number.map { target.upload($0) } }

    private func answer(_ reply: Reply) {
        answer(reply.resolved(at: 0), as: nil)
    }

    private func answer(_ reply: ResolvedReply, as request: ReceivedRequest?) {
        if case .over = progress { return }
        progress = .over
        connection?.answer(reply, as: request)
    }

    private func breakOff(_ ending: LoopbackServer.Ending) {
        if case .over = progress { return }
        progress = .over
        connection?.breakOff(ending)
    }
}

/// What faults change about a response.
private struct UploadChanges {
    private(set) var location: String?
    private(set) var hasOffset = false
    private var isLocationReplaced = false
    private var statedOffset: Int?
    private var hasVersion = false
    private var statedVersion: Int?

    /// Sets the `Location`, unless a fault has.
    mutating func setLocation(_ text: String) {
        if !isLocationReplaced { location = text }
    }

    mutating func replaceLocation(_ text: String?) {
        location = text
        isLocationReplaced = true
    }

    mutating func setOffset(_ offset: Int?) {
        statedOffset = offset
        hasOffset = true
    }

    /// The offset that a response states in place of the right one.
    func offset(_ offset: Int) -> Int? { hasOffset ? statedOffset : offset }

    mutating func setInterimVersion(_ version: Int?) {
        statedVersion = version
        hasVersion = true
    }

    /// The version of a 104 in place of the right one.
    func interimVersion(_ version: Int) -> Int? { hasVersion ? statedVersion : version }
}
