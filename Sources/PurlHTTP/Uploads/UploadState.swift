/// A part of an upload's content, as one request carries it.
package struct UploadPart: Sendable, Hashable {
    /// Where it begins in the content.
    package var offset: Int64
    /// Where it ends; nil for the end of a content whose length is not known.
    package var end: Int64?
    /// Whether nothing follows it: the request completes the upload.
    package var isLast: Bool

    package init(offset: Int64, end: Int64?, isLast: Bool) {
        self.offset = offset
        self.end = end
        self.isLast = isLast
    }

    /// The length; nil where it is not known.
    package var length: Int64? { end.map { $0 - offset } }
}

/// Why an upload cannot continue.
package enum UploadFault: Error, Sendable, Hashable {
    /// The server takes less in all than there is.
    case oversized(maximum: Int64)
    /// The upload resource responded with this status.
    case refused(status: Int)
    /// The server has named an offset beyond the end of the content.
    case beyondEnd(offset: Int64, length: Int64)
    /// The server has named an offset that lies beyond what was sent, or reports all of the content before it was sent.
    case neverSent(offset: Int64, sent: Int64)
    /// The server reports an upload as complete of which it does not have all.
    case completeAt(offset: Int64, length: Int64)
    /// The upload resource asks for credentials that are not known, or refuses those it got.
    case forbidden(status: Int)
    /// The server has not named what it takes to continue.
    case unplaced(status: Int)

    /// Whether the server may have what it had nonetheless: it is busy, wants other credentials, or something on the way has
    /// responded in its place. Only what says that the upload is gone, or fits no upload of this content, ends it.
    package var leavesUpload: Bool {
        switch self {
        case .forbidden, .unplaced: true
        case .refused(let status): ![404, 409, 410, 413].contains(status)
        case .oversized, .beyondEnd, .neverSent, .completeAt: false
        }
    }
}

/// What to do next for an upload; see ``UploadAction``.
package enum UploadStep: Sendable, Hashable {
    case proceed
    /// - Parameter attempt: Which of the requests in a row it is that bring no progress; the first one is sent at once.
    case ask(attempt: Int)
    case append(UploadPart)
    case create(UploadPart, version: UploadVersion?)
    case follow
    case deliver
    case giveUp
    case fail(UploadFault)
}

/// A resumable upload in numbers: turns what servers send into events of ``UploadPhase``, and its actions into requests.
///
/// A value without I/O. Every offset in a step lies within the content, and of a server that brings no progress no more is
/// requested than the limit allows.
package struct UploadState: Sendable, Hashable {
    package private(set) var phase: UploadPhase
    /// The length of all of the content; nil where it is not known.
    package let length: Int64?
    /// How many requests in a row may bring no progress; nil for any number.
    private let patience: Int?
    /// What the last request with content carries.
    package private(set) var part: UploadPart
    /// The highest offset that the server has named.
    package private(set) var acknowledged: Int64 = 0
    /// How far into the content requests have come that are part of this upload; nil where that is not known, since another
    /// process ended while it sent.
    package private(set) var sent: Int64? = 0
    /// Where in the content the next byte is that is sent.
    private var position: Int64 = 0
    private var limits = UploadLimits()
    /// How many requests in a row have brought no progress.
    private var attempts = 0
    /// The version of the request; nil where it names none.
    private var version: UploadVersion?
    /// How many requests have been made to create the upload.
    private var creations = 1

    /// The state of an upload that is to be created.
    ///
    /// - Parameters:
    ///   - length: The length of the content, all of which the request carries; nil where it is not known.
    ///   - version: The version that the request names; nil where it names none.
    package init(creating length: Int64?, version: UploadVersion?, patience: Int?) {
        phase = .creating
        self.length = length
        part = UploadPart(offset: 0, end: length, isLast: true)
        self.version = version
        self.patience = patience
    }

    /// The state of an upload that was created before; its server is to be asked for the offset.
    ///
    /// - Parameters:
    ///   - acknowledged: The highest offset that the server has named.
    ///   - sent: How much of the content was sent; nil where that is not known.
    package init(
        resuming length: Int64?, acknowledged: Int64, sent: Int64?, version: UploadVersion?, patience: Int?
    ) {
        phase = .asking
        self.length = length
        part = UploadPart(offset: acknowledged, end: length, isLast: true)
        self.acknowledged = acknowledged
        self.sent = sent
        self.version = version
        self.patience = patience
    }

    /// Whether an upload resource is known, and the upload is not over.
    package var isResumable: Bool {
        switch phase {
        case .creating, .over: false
        case .created, .asking, .appending: true
        }
    }

    // MARK: Sending

    /// A request with the current part begins, perhaps not for the first time.
    package mutating func beginPart() {
        position = part.offset
    }

    /// So many bytes of the current part have been sent.
    package mutating func send(_ count: Int64) {
        position += count
        if let sent { self.sent = max(sent, position) }
    }

    /// Whether the server may have this much. It cannot have what was never sent.
    private func mayHave(_ offset: Int64) -> Bool { offset <= length ?? .max && offset <= sent ?? .max }

    // MARK: Events

    /// Takes an interim response with the status 104.
    ///
    /// - Parameter namesResource: It has a `Location` that can be used.
    package mutating func receiveInterim(_ fields: UploadFields, namesResource: Bool) -> UploadStep {
        guard phase != .over else { return .proceed }
        guard phase != .creating || (isOffer(fields) && namesResource) else { return .proceed }
        limits.update(with: fields.limits)
        if let offset = fields.offset, mayHave(offset) { learn(offset) }
        if let maximum = limits.maximumSize, let length, length > maximum { return take(.oversized, status: 104) }
        guard phase == .creating || phase == .created else { return .proceed }
        return take(needsSmallerParts ? .offeredForParts : .offered, status: 104)
    }

    /// The draft's condition for relying on a 104: both ends name the same version. A server that names one to a request
    /// without any offers by itself.
    private func isOffer(_ fields: UploadFields) -> Bool {
        guard let offered = fields.version else { return false }
        return version == nil || offered == version
    }

    /// Takes the end of a request without a final response.
    package mutating func receiveCut() -> UploadStep {
        attempts += 1
        return take(isPatient ? .cut : .cutWithoutProgress, status: 0)
    }

    /// Takes a final response.
    ///
    /// - Parameter namesResource: It has a `Location` that can be used.
    package mutating func receive(status: Int, _ fields: UploadFields, namesResource: Bool) -> UploadStep {
        limits.update(with: fields.limits)
        return take(event(for: status, fields, namesResource: namesResource), status: status, fields)
    }

    /// The task has its response.
    package mutating func end() {
        phase = .over
    }

    // MARK: From responses to events

    private mutating func event(for status: Int, _ fields: UploadFields, namesResource: Bool) -> UploadEvent {
        if isCompleted(by: status, fields) {
            return phase == .asking && (!mayHave(length ?? 0) || lacksContent(fields)) ? .misplaced : .completed
        }
        switch status {
        case 401, 403, 407: return .forbidden
        case 200...299: return accepted(fields, namesResource: namesResource)
        case 307, 308: return .moved
        case 300...399: return .redirected
        case 409: return conflict(fields)
        case 413: return needsSmallerParts && mayCreateAgain ? insisting(.tooLarge) : .refused
        case 500...599: return insisting(.failed)
        default: return namesOtherVersion(fields) && mayCreateAgain ? .otherVersion : .refused
        }
    }

    private func isCompleted(by status: Int, _ fields: UploadFields) -> Bool {
        if let isComplete = fields.isComplete { return isComplete }
        // A response that does not state it: a success after the last part is the end of the upload.
        return phase != .asking && part.isLast && 200...299 ~= status
    }

    /// Whether a response names an offset other than the end of the content.
    private func lacksContent(_ fields: UploadFields) -> Bool {
        guard let offset = fields.offset, let length else { return false }
        return offset != length
    }

    private func namesOtherVersion(_ fields: UploadFields) -> Bool {
        guard let version, let other = fields.version else { return false }
        return other != version
    }

    /// Whether a request that has created nothing may be sent in another form: the server has to know of uploads in parts.
    private var mayCreateAgain: Bool {
        phase == .appending || (version != nil && creations < Self.maximumCreations)
    }

    private static let maximumCreations = 4

    private mutating func accepted(_ fields: UploadFields, namesResource: Bool) -> UploadEvent {
        switch phase {
        case .creating where !namesResource: return .unplaced
        case .creating, .created, .appending:
            if let offset = fields.offset { return place(at: offset, .accepted) }
            // A part that was taken is taken to its end, unless the response states another offset.
            return part.end.map { move(to: $0, .accepted) } ?? insisting(.unplaced)
        case .asking: return fields.offset.map { place(at: $0, .accepted) } ?? .unplaced
        case .over: return .accepted
        }
    }

    private mutating func conflict(_ fields: UploadFields) -> UploadEvent {
        guard phase == .appending else { return .refused }
        guard let offset = fields.offset else { return insisting(.unplaced) }
        // What was refused is not sent again.
        return offset == part.offset ? .refused : place(at: offset, .conflict)
    }

    /// The next part begins at an offset that the server has named.
    private mutating func place(at offset: Int64, _ event: UploadEvent) -> UploadEvent {
        mayHave(offset) ? move(to: offset, event) : .misplaced
    }

    /// The next part begins at `offset`, unless the server brings no progress.
    private mutating func move(to offset: Int64, _ event: UploadEvent) -> UploadEvent {
        let isProgress = offset > acknowledged
        learn(offset)
        if phase != .asking, !isProgress {
            attempts += 1
            guard isPatient else { return .refused }
            if attempts > 1 { return .failed }
        }
        part = nextPart(at: offset)
        return event
    }

    /// An event after which the same is tried once more, if it may be.
    private mutating func insisting(_ event: UploadEvent) -> UploadEvent {
        attempts += 1
        return isPatient ? event : .refused
    }

    private var isPatient: Bool { patience.map { attempts <= $0 } ?? true }

    private mutating func learn(_ offset: Int64) {
        guard offset > acknowledged else { return }
        acknowledged = offset
        attempts = 0
    }

    /// Whether the server takes less in one request than the last part has.
    private var needsSmallerParts: Bool {
        guard let limit = limits.maximumAppendSize, limit > 0, let size = part.length else { return false }
        return limit < size
    }

    private func nextPart(at offset: Int64) -> UploadPart {
        guard let length else { return UploadPart(offset: offset, end: nil, isLast: true) }
        guard let limit = limits.maximumAppendSize, limit > 0, limit < length - offset else {
            return UploadPart(offset: offset, end: length, isLast: true)
        }
        return UploadPart(offset: offset, end: offset + limit, isLast: false)
    }

    // MARK: From actions to steps

    private mutating func take(_ event: UploadEvent, status: Int, _ fields: UploadFields = UploadFields()) -> UploadStep
    {
        guard let (next, action) = phase.after(event) else { return .proceed }
        phase = next
        switch action {
        case .proceed: return .proceed
        case .ask: return .ask(attempt: attempts)
        case .append: return .append(part)
        case .create:
            creations += 1
            if event == .otherVersion { version = fields.version }
            part = nextPart(at: 0)
            // Another upload resource has nothing yet.
            sent = 0
            acknowledged = 0
            return .create(part, version: version)
        case .follow: return .follow
        case .deliver: return .deliver
        case .giveUp: return .giveUp
        case .fail: return .fail(fault(of: event, status, fields))
        }
    }

    private func fault(of event: UploadEvent, _ status: Int, _ fields: UploadFields) -> UploadFault {
        switch event {
        case .oversized: .oversized(maximum: limits.maximumSize ?? 0)
        case .misplaced: misplacement(fields)
        case .forbidden: .forbidden(status: status)
        case .unplaced: .unplaced(status: status)
        case .offered, .offeredForParts, .cut, .cutWithoutProgress, .completed, .accepted, .moved, .redirected,
            .conflict,
            .tooLarge, .otherVersion, .refused, .failed:
            .refused(status: status)
        }
    }

    private func misplacement(_ fields: UploadFields) -> UploadFault {
        let offset = fields.offset ?? 0
        if let length, offset > length { return .beyondEnd(offset: offset, length: length) }
        if let length, fields.isComplete == true, lacksContent(fields), mayHave(length) {
            return .completeAt(offset: offset, length: length)
        }
        // What reports to be complete has all there is.
        return .neverSent(offset: mayHave(offset) ? length ?? offset : offset, sent: sent ?? 0)
    }
}
