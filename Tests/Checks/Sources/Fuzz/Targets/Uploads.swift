import Foundation
import PurlHTTP

@testable import Purl
@testable import PurlConnections

extension FuzzTarget {
    /// The fields of resumable uploads, and resume data made of the input's parts.
    static let uploadFields = FuzzTarget("upload-fields") { bytes in
        var choices = Choices(bytes)
        let names: [FieldName] = [
            .uploadOffset, .uploadComplete, .uploadLimit, .uploadDraftInteropVersion, .uploadIncomplete,
        ]
        let kind = choices.number(below: names.count + 1)
        guard kind < names.count else { return UploadBlobs.look(at: choices.remainder()) }
        var fields = HeaderFields()
        fields.append(names[kind], FieldText.value(choices.remainder()))
        let read = UploadFields(fields)
        require(read.offset ?? 0 >= 0, "an offset is a number of bytes")
        for limit in [read.limits.maximumSize, read.limits.maximumAppendSize] {
            require(limit ?? 0 >= 0, "a limit is a number of bytes")
        }
        if let version = read.version {
            requireSame(UploadVersion(version.fieldValue), version, "a version is read as it is written")
        }
        if let isComplete = read.isComplete {
            let again = HeaderFields(dictionaryLiteral: ("Upload-Complete", UploadFields.text(isComplete)))
            requireSame(UploadFields(again).isComplete, isComplete, "a Boolean is read as it is written")
        }
    }

    /// A course of events: an upload never leaves its content, and ends when it brings nothing.
    static let uploadStates = FuzzTarget("upload-states") { bytes in
        var choices = Choices(bytes)
        let length: Int64? = choices.flag() ? Int64(choices.byte()) : nil
        let patience = choices.number(below: 5)
        let version = choices.one(of: [nil, UploadVersion.six, .eight])
        var course = UploadCourse(length: length, version: version, patience: patience, resumes: choices.flag())
        while !choices.isEmpty { course.step(&choices) }
        // From here on nothing is answered any more.
        course.cutUntilItEnds()
    }
}

/// An upload, and a server that responds as the input chooses.
private struct UploadCourse {
    private var state: UploadState
    private let length: Int64?
    private let patience: Int
    /// The upload has been offered, or was before.
    private var isOffered: Bool

    init(length: Int64?, version: UploadVersion?, patience: Int, resumes: Bool) {
        self.length = length
        self.patience = patience
        isOffered = resumes
        state =
            resumes
            ? UploadState(resuming: length, acknowledged: 0, sent: nil, version: version, patience: patience)
            : UploadState(creating: length, version: version, patience: patience)
    }

    mutating func step(_ choices: inout Choices) {
        let before = state
        let fields = UploadFields(
            version: choices.one(of: [nil, .six, .eight]), isComplete: choices.one(of: [nil, false, false, true]),
            offset: choices.flag() ? abs(choices.integer() % 300) : nil,
            limits: UploadLimits(
                maximumSize: choices.byte() < 16 ? Int64(choices.byte()) : nil,
                maximumAppendSize: choices.flag() ? Int64(choices.byte()) : nil))
        let namesResource = choices.flag()
        let status = choices.one(of: [104, 200, 201, 204, 302, 307, 400, 403, 404, 409, 413, 500, 503, 0])
        if choices.flag() { state.beginPart() }
        state.send(Int64(choices.byte()))
        let step: UploadStep
        switch status {
        case 0: step = state.receiveCut()
        case 104: step = state.receiveInterim(fields, namesResource: namesResource)
        default: step = state.receive(status: status, fields, namesResource: namesResource)
        }
        if namesResource, status != 0 { isOffered = true }
        check(step, after: before, fields)
    }

    private func check(_ step: UploadStep, after before: UploadState, _ fields: UploadFields) {
        if case .create = step {
            requireSame(state.acknowledged, 0, "another upload resource has nothing")
        } else {
            require(state.acknowledged >= before.acknowledged, "what a server has is not forgotten")
        }
        if case .append(let part) = step, part.offset == fields.offset, let sent = state.sent {
            require(part.offset <= sent, "no offset lies beyond what was sent")
        }
        if let length { require(state.acknowledged <= length, "no offset lies beyond the end") }
        if before.phase == .over { requireSame(step, .proceed, "what is over stays over") }
        switch step {
        case .ask, .append: require(isOffered, "nothing is asked for before an offer")
        case .proceed, .create, .follow, .deliver, .giveUp, .fail: break
        }
        switch step {
        case .append(let part), .create(let part, _):
            require(part.offset >= 0 && part.offset <= part.end ?? .max, "a part has a beginning and an end")
            requireSame(part.isLast, part.end == length, "the last part alone ends where the content does")
            if let end = part.end, let length { require(end <= length, "a part lies in the content") }
            requireSame(state.part, part, "the state is that of the part")
        case .ask(let attempt): require(attempt <= patience, "a server without progress is not asked without end")
        case .deliver, .giveUp, .fail: requireSame(state.phase, .over, "it is over")
        case .proceed, .follow: break
        }
    }

    mutating func cutUntilItEnds() {
        for _ in 0...patience {
            if state.phase == .over { return }
            _ = state.receiveCut()
        }
        requireSame(state.phase, .over, "an upload without progress ends")
    }
}

/// Resume data of uploads.
private enum UploadBlobs {
    static func look(at bytes: [UInt8]) {
        if let read = try? UploadResumeData(decoding: Data(bytes)) { check(read) }
        var choices = Choices(bytes)
        let request = StoredRequest(URLRequest(url: URL(string: "http://example.com/a")!))
        var composed = UploadResumeData(
            originalRequest: request, creatingRequest: request, resource: choices.line(),
            interopVersion: choices.one(of: [.six, .eight]), offset: choices.integer(),
            sent: choices.flag() ? choices.integer() : nil, length: choices.flag() ? choices.integer() : nil,
            content: .stream)
        if choices.flag() { composed.creatingRequest.url = choices.line() }
        if choices.flag() { composed.content = .data(Data(choices.remainder())) }
        if composed.isSound { check(composed) }
    }

    private static func check(_ data: UploadResumeData) {
        guard let written = try? data.encoded() else { return }
        requireSame(try? UploadResumeData(decoding: written), data, "sound data is written and read as the same")
        require(data.offset >= 0 && data.offset <= data.length ?? .max, "the offset lies in the content")
        guard let resource = URL(string: data.resource), let creation = URL(string: data.creatingRequest.url) else {
            return require(false, "both are URLs")
        }
        if resource.scheme?.lowercased() == Origin.localScheme {
            require(resource.isSameOrigin(as: creation), "no socket of this machine is a server's to choose")
        }
    }
}
