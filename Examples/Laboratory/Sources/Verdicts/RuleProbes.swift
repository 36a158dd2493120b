import PurlHTTP

/// Rules: caching, resuming, resumable uploads.
enum RuleProbes {
    static func cache(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        let (requestTime, responseTime, now) = (choices.integer(), choices.integer(), choices.integer())
        let status = choices.one(of: [200, 203, 204, 206, 300, 301, 304, 308, 404, 405, 410, 414, 500, 501, 503, 599])
        var sections = [HeaderFields](repeating: HeaderFields(), count: 4)
        let names: [FieldName] = [
            .cacheControl, .vary, .age, .expires, .date, .lastModified, .etag, .pragma, FieldName("X"), .connection,
            .location, .contentLocation,
        ]
        while !choices.isEmpty, sections[1].count < 50 {
            let (place, name) = (choices.number(below: 4), choices.one(of: names))
            sections[place].append(name, choices.fieldValue())
        }
        let (requested, stored, asked, confirmed) = (sections[0], sections[1], sections[2], sections[3])
        let may = CacheStorage.mayStore(method: "GET", requestFields: requested, status: status, fields: stored)
        transcript.line("store", "\(status)", may.word)
        for reference in CacheStorage.invalidatedReferences(by: stored) { transcript.line("invalidates", reference) }
        let kept = CacheStorage.storedFields(of: stored)
        for field in kept { transcript.line("kept", field.name, field.value) }
        FieldProbes.write(CacheControl(kept), to: &transcript)
        let response = CachedResponse(
            requestFields: requested, status: status, fields: kept, requestTime: requestTime, responseTime: responseTime
        )
        transcript.line(
            "age", "\(response.freshnessLifetime)", "\(response.currentAge(at: now))", response.isFresh(at: now).word,
            "\(response.staleness(at: now))")
        switch response.reuse(for: asked, at: now) {
        case .use(let age): transcript.line("use", "\(age)")
        case .validate(let conditions):
            for field in conditions { transcript.line("validate", field.name, field.value) }
        case .forward: transcript.line("forward")
        case .unsatisfiable: transcript.line("unsatisfiable")
        }
        transcript.line(
            "error", response.mayReplaceError(for: asked, at: now).word, response.isConfirmed(by: confirmed).word,
            response.isContradicted(byHead: confirmed).word)
        let updated = response.updated(by: confirmed, requestTime: requestTime, responseTime: responseTime)
        for field in updated.fields { transcript.line("updated", field.name, field.value) }
    }

    /// One answer to a request for the rest. What the fuzzing target takes for a course of answers is read as one, too.
    static func resuming(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        let first = choices.byte()
        let validator = ["\"v1\"", "Sun, 06 Nov 1994 08:49:37 GMT", "\"\""][Int(first & 0x3F) % 3]
        let offset = max(0, choices.integer())
        let total = choices.flag() ? max(0, choices.integer()) : nil
        let point = ResumePoint(
            offset: offset, total: total, validator: validator, condition: first & 0x40 == 0 ? .ifRange : .ifMatch)
        transcript.line("point", "\(offset)", total.word, point.conditionField.text, validator)
        var parser = ResponseHeadParser()
        var position = 0
        let text = choices.remainder()
        do throws(ParseError) {
            guard let head = try parser.parse(text.span.bytes, from: &position) else {
                return transcript.line("no head")
            }
            let framing = try BodyFraming.ofResponse(head, to: "GET")
            transcript.line("framing", HeadProbes.word(framing))
            switch Resumability.judge(head, framing: framing, asked: point) {
            case .continues(let part):
                transcript.line("continues", "\(part.overlap)", "\(part.end)", "\(part.total)")
            case .replaces: transcript.line("replaces")
            case .repeats: transcript.line("repeats")
            case .repeatsEarlier: transcript.line("repeats earlier")
            case .complete: transcript.line("complete")
            case .unusable: transcript.line("unusable")
            case .notTheResource: transcript.line("other")
            }
            transcript.line("validator", Resumability.validator(of: head).word)
        } catch {
            transcript.line("error", error.description)
        }
    }

    static func uploadFields(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        let names: [FieldName] = [
            .uploadOffset, .uploadComplete, .uploadLimit, .uploadDraftInteropVersion, .uploadIncomplete,
        ]
        var fields = HeaderFields()
        fields.append(
            names[choices.number(below: names.count + 1) % names.count], Choices.fieldValue(choices.remainder()))
        let read = UploadFields(fields)
        transcript.line(
            "upload", (read.version?.fieldValue).word, (read.isComplete?.word).word, read.offset.word,
            read.limits.maximumSize.word, read.limits.maximumAppendSize.word)
    }

    static func uploadStates(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        let length: Int64? = choices.flag() ? Int64(choices.byte()) : nil
        let patience = choices.number(below: 5)
        let version = choices.one(of: [nil, UploadVersion.six, .eight])
        var state =
            choices.flag()
            ? UploadState(resuming: length, acknowledged: 0, sent: nil, version: version, patience: patience)
            : UploadState(creating: length, version: version, patience: patience)
        while !choices.isEmpty {
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
            let step =
                switch status {
                case 0: state.receiveCut()
                case 104: state.receiveInterim(fields, namesResource: namesResource)
                default: state.receive(status: status, fields, namesResource: namesResource)
                }
            transcript.line("step", word(step), "\(state.acknowledged)", state.sent.word, state.isResumable.word)
        }
    }

    private static func word(_ step: UploadStep) -> String {
        switch step {
        case .proceed: "proceed"
        case .ask(let attempt): "ask \(attempt)"
        case .append(let part): "append \(part.offset) \(part.end.word) \(part.isLast.word)"
        case .create(let part, let version): "create \(part.offset) \(part.end.word) \((version?.fieldValue).word)"
        case .follow: "follow"
        case .deliver: "deliver"
        case .giveUp: "give up"
        case .fail(let fault): "fail \(fault.leavesUpload.word)"
        }
    }
}
