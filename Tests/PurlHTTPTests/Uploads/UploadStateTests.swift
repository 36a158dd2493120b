import PurlHTTP
import Testing

@Suite("A resumable upload in numbers")
struct UploadStateTests {
    /// What arrives.
    enum Arrival: Sendable {
        case interim(UploadFields, location: Bool = true)
        case response(Int, UploadFields = UploadFields(), location: Bool = false)
        case cut
    }

    struct Course: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var length: Int64? = 100
        var version: UploadVersion? = .eight
        var patience: Int? = 3
        /// How much of each request's content is sent at most.
        var sending: Int64 = 1000
        let steps: [(Arrival, UploadStep)]

        init(
            _ name: String, length: Int64? = 100, version: UploadVersion? = .eight, patience: Int? = 3,
            sending: Int64 = 1000, _ steps: (Arrival, UploadStep)...
        ) {
            testDescription = name
            self.length = length
            self.version = version
            self.patience = patience
            self.sending = sending
            self.steps = steps
        }
    }

    static let offer = Arrival.interim(UploadFields(version: .eight))
    static func offer(upTo size: Int64) -> Arrival {
        .interim(UploadFields(version: .eight, limits: UploadLimits(maximumAppendSize: size)))
    }
    static func offset(_ offset: Int64, complete: Bool? = false, status: Int = 204) -> Arrival {
        .response(status, UploadFields(isComplete: complete, offset: offset))
    }
    static func rest(_ offset: Int64) -> UploadStep { .append(UploadPart(offset: offset, end: 100, isLast: true)) }
    static func part(_ offset: Int64, _ end: Int64) -> UploadPart {
        UploadPart(offset: offset, end: end, isLast: end == 100)
    }
    static let firstAsk = UploadStep.ask(attempt: 1)

    static let courses: [Course] = [
        Course("Nobody interrupts it", (offer, .proceed), (.response(201), .deliver)),
        Course("The server does not know of uploads", (.response(200), .deliver)),
        Course("Cut before anything was offered", (.cut, .giveUp)),
        Course("A failure before anything was offered", (.response(503), .deliver)),
        Course(
            "Cut, asked, appended", (offer, .proceed), (.cut, firstAsk), (offset(40), rest(40)),
            (.response(200, UploadFields(isComplete: true)), .deliver)),
        Course(
            "Cut again and again, with progress", (offer, .proceed), (.cut, firstAsk), (offset(10), rest(10)),
            (.cut, firstAsk), (offset(20), rest(20)), (.cut, firstAsk), (offset(30), rest(30)), (.cut, firstAsk),
            (offset(40), rest(40)), (.cut, firstAsk), (offset(50), rest(50))),
        Course(
            "Cut again and again, without progress", patience: 2, (offer, .proceed), (.cut, firstAsk),
            (offset(10), rest(10)), (.cut, firstAsk), (offset(10), rest(10)), (.cut, .ask(attempt: 2)), (.cut, .giveUp)),
        Course(
            "The same, with any patience", patience: nil, (offer, .proceed), (.cut, firstAsk), (.cut, .ask(attempt: 2)),
            (.cut, .ask(attempt: 3)), (.cut, .ask(attempt: 4)), (offset(1), rest(1)), (.cut, firstAsk)),
        Course(
            "Progress that an interim response reports counts", patience: 1, (offer, .proceed), (.cut, firstAsk),
            (offset(0), rest(0)), (.interim(UploadFields(offset: 50), location: false), .proceed), (.cut, firstAsk)),
        Course(
            "5xx to each request", (offer, .proceed), (.response(500), firstAsk), (.response(502), .ask(attempt: 2)),
            (offset(40), rest(40)), (.response(503), firstAsk), (offset(60), rest(60)), (.response(200), .deliver)),
        Course(
            "5xx for as long as there is patience", patience: 1, (offer, .proceed), (.response(500), firstAsk),
            (.response(500), .fail(.refused(status: 500)))),
        Course(
            "5xx to what is appended, too often", patience: 1, (offer, .proceed), (.cut, firstAsk),
            (offset(0), rest(0)), (.response(500), .deliver)),
        Course(
            "A 5xx that is the response to all of the content", (offer, .proceed), (.cut, firstAsk),
            (offset(40), rest(40)), (.response(500, UploadFields(isComplete: true)), .deliver)),
        Course(
            "A 4xx that is the response to all of the content", (offer, .proceed),
            (.response(422, UploadFields(isComplete: true)), .deliver)),
        Course(
            "The final response was lost", (offer, .proceed), (.cut, firstAsk),
            (offset(100, complete: true), .deliver)),
        Course(
            "All has arrived, and is not complete", (offer, .proceed), (.cut, firstAsk), (offset(100), rest(100)),
            (.response(200, UploadFields(isComplete: true)), .deliver)),
        Course(
            "An offset that goes back", (offer, .proceed), (.cut, firstAsk), (offset(40), rest(40)), (.cut, firstAsk),
            (offset(20), rest(20)), (.response(200), .deliver)),
        Course(
            "An offset beyond the end", (offer, .proceed), (.cut, firstAsk),
            (offset(101), .fail(.beyondEnd(offset: 101, length: 100)))),
        Course(
            "A 409 with an offset beyond the end", (offer, .proceed), (.cut, firstAsk), (offset(40), rest(40)),
            (offset(101, status: 409), .fail(.beyondEnd(offset: 101, length: 100)))),
        Course(
            "An interim offset beyond the end is ignored", (offer, .proceed),
            (.interim(UploadFields(offset: 101), location: false), .proceed), (.response(200), .deliver)),
        Course(
            "An offset beyond what was sent", sending: 40, (offer, .proceed), (.cut, firstAsk),
            (offset(41), .fail(.neverSent(offset: 41, sent: 40)))),
        Course(
            "An offset beyond what was sent in two requests", sending: 40, (offer, .proceed), (.cut, firstAsk),
            (offset(40), rest(40)), (.cut, firstAsk), (offset(80), rest(80)), (.cut, firstAsk), (offset(100), rest(100))
        ),
        Course(
            "A 409 with an offset beyond what was sent", sending: 40, (offer, .proceed), (.cut, firstAsk),
            (offset(10), rest(10)), (offset(51, status: 409), .fail(.neverSent(offset: 51, sent: 50)))),
        Course(
            "An interim offset beyond what was sent is ignored", patience: 1, sending: 40, (offer, .proceed),
            (.interim(UploadFields(offset: 41), location: false), .proceed), (.cut, firstAsk), (.cut, .giveUp)),
        Course(
            "A server that reports to be complete before all was sent", sending: 40, (offer, .proceed),
            (.cut, firstAsk),
            (offset(40, complete: true), .fail(.neverSent(offset: 100, sent: 40)))),
        Course(
            "A server that reports to be complete with an offset before the end", (offer, .proceed), (.cut, firstAsk),
            (offset(40, complete: true), .fail(.completeAt(offset: 40, length: 100)))),
        Course(
            "A server that reports to be complete with an offset beyond the end", (offer, .proceed), (.cut, firstAsk),
            (offset(101, complete: true), .fail(.beyondEnd(offset: 101, length: 100)))),
        Course(
            "A server that reports to be complete at the end", (offer, .proceed), (.cut, firstAsk),
            (offset(100, complete: true), .deliver)),
        Course(
            "An offset of a stream beyond what was sent", length: nil, sending: 40, (offer, .proceed), (.cut, firstAsk),
            (offset(41), .fail(.neverSent(offset: 41, sent: 40)))),
        Course(
            "What another upload resource had does not count", sending: 70,
            (
                .response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 30))),
                .create(part(0, 30), version: .eight)
            ),
            (offer, .proceed), (.cut, .ask(attempt: 2)), (offset(31), .fail(.neverSent(offset: 31, sent: 30)))),
        Course("Credentials are refused before there is an upload", (.response(401), .deliver)),
        Course("Credentials are refused by the request that creates it", (offer, .proceed), (.response(403), .deliver)),
        Course(
            "Credentials are refused when the offset is asked for", (offer, .proceed), (.cut, firstAsk),
            (.response(401), .fail(.forbidden(status: 401)))),
        Course(
            "Credentials are refused when the rest is sent", (offer, .proceed), (.cut, firstAsk),
            (offset(40), rest(40)),
            (.response(403), .fail(.forbidden(status: 403)))),
        Course(
            "A 409 with the right offset", (offer, .proceed), (.cut, firstAsk), (offset(40), rest(40)),
            (offset(60, status: 409), rest(60)), (.response(200), .deliver)),
        Course(
            "A 409 with the offset that was sent", (offer, .proceed), (.cut, firstAsk), (offset(40), rest(40)),
            (offset(40, status: 409), .deliver)),
        Course(
            "A 409 without an offset", (offer, .proceed), (.cut, firstAsk), (offset(40), rest(40)),
            (.response(409), firstAsk), (offset(60), rest(60))),
        Course(
            "409s that contradict each other", (offer, .proceed), (.cut, firstAsk), (offset(40), rest(40)),
            (offset(20, status: 409), rest(20)), (offset(10, status: 409), .ask(attempt: 2)), (offset(20), rest(20)),
            (offset(10, status: 409), .ask(attempt: 3)), (offset(20), rest(20)), (offset(10, status: 409), .deliver)),
        Course("A 409 to the creation", (offer, .proceed), (offset(0, status: 409), .deliver)),
        Course(
            "A 413 with a limit to the creation",
            (
                .response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 60))),
                .create(part(0, 60), version: .eight)
            ),
            (offer, .proceed), (offset(60, status: 201), .append(part(60, 100))), (.response(200), .deliver)),
        Course(
            "Parts that the server acknowledges without an offset",
            (
                .response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 40))),
                .create(part(0, 40), version: .eight)
            ),
            (.response(201, location: true), .append(part(40, 80))),
            (.response(204, UploadFields(isComplete: false)), .append(part(80, 100))), (.response(200), .deliver)),
        Course(
            "A part that the server takes half of",
            (
                .response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 40))),
                .create(part(0, 40), version: .eight)
            ),
            (.response(201, UploadFields(offset: 20), location: true), .append(part(20, 60)))),
        Course(
            "A part that is taken, and no upload resource is named",
            (
                .response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 40))),
                .create(part(0, 40), version: .eight)
            ),
            (.response(200), .fail(.unplaced(status: 200)))),
        Course("A 413 without a limit", (.response(413), .deliver)),
        Course(
            "A 413 whose limit is not an obstacle",
            (.response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 100))), .deliver)),
        Course(
            "A 413 with a limit to a request that asked for nothing", version: nil,
            (.response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 60))), .deliver)),
        Course(
            "A 413 with a limit to a body of unknown length", length: nil,
            (.response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 60))), .deliver)),
        Course(
            "413s without end",
            (
                .response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 60))),
                .create(part(0, 60), version: .eight)
            ),
            (
                .response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 59))),
                .create(part(0, 59), version: .eight)
            ),
            (
                .response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 58))),
                .create(part(0, 58), version: .eight)
            ),
            (.response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 57))), .deliver)),
        Course(
            "A 413 with a limit to what is appended", (offer, .proceed), (.cut, firstAsk), (offset(10), rest(10)),
            (.response(413, UploadFields(limits: UploadLimits(maximumAppendSize: 30))), firstAsk),
            (offset(10), .append(part(10, 40))),
            (.response(204, UploadFields(isComplete: false)), .append(part(40, 70))),
            (.response(204, UploadFields(isComplete: false)), .append(part(70, 100))), (.response(200), .deliver)),
        Course(
            "An offer that takes less in one request", (offer(upTo: 30), firstAskOfParts),
            (offset(20), .append(part(20, 50)))),
        Course(
            "An offer that takes less in all",
            (
                .interim(UploadFields(version: .eight, limits: UploadLimits(maximumSize: 99))),
                .fail(.oversized(maximum: 99))
            )),
        Course(
            "An offer that takes all",
            (.interim(UploadFields(version: .eight, limits: UploadLimits(maximumSize: 100))), .proceed),
            (.response(200), .deliver)),
        Course(
            "An offer in another version", (.interim(UploadFields(version: .six)), .proceed), (.cut, .giveUp)),
        Course("An offer without a version", (.interim(UploadFields()), .proceed), (.cut, .giveUp)),
        Course(
            "An offer without an upload resource", (.interim(UploadFields(version: .eight), location: false), .proceed),
            (.cut, .giveUp)),
        Course(
            "An offer that was not asked for", version: nil, (.interim(UploadFields(version: .six)), .proceed),
            (.cut, firstAsk)),
        Course(
            "A server that speaks the other version",
            (.response(400, UploadFields(version: .six)), .create(part(0, 100), version: .six)),
            (.interim(UploadFields(version: .six)), .proceed), (.cut, firstAsk)),
        Course(
            "A server that speaks neither version",
            (.response(400, UploadFields(version: .six)), .create(part(0, 100), version: .six)),
            (.response(400, UploadFields(version: .eight)), .create(part(0, 100), version: .eight)),
            (.response(400, UploadFields(version: .six)), .create(part(0, 100), version: .six)),
            (.response(400, UploadFields(version: .eight)), .deliver)),
        Course("A refusal that names the same version", (.response(400, UploadFields(version: .eight)), .deliver)),
        Course(
            "Moved for a while", (offer, .proceed), (.cut, firstAsk), (.response(307, location: true), .follow),
            (offset(10), rest(10)), (.response(308, location: true), .follow), (.cut, firstAsk)),
        Course("The creation is moved", (.response(307, location: true), .follow)),
        Course(
            "Another redirect", (offer, .proceed), (.cut, firstAsk),
            (.response(302, location: true), .fail(.refused(status: 302)))),
        Course("A redirect of the creation", (offer, .proceed), (.response(303, location: true), .follow)),
        Course(
            "The upload resource is gone", (offer, .proceed), (.cut, firstAsk),
            (.response(404), .fail(.refused(status: 404)))),
        Course(
            "The upload resource is gone when it is appended to", (offer, .proceed), (.cut, firstAsk),
            (offset(10), rest(10)), (.response(410), .deliver)),
        Course(
            "An answer without an offset", (offer, .proceed), (.cut, firstAsk),
            (.response(204), .fail(.unplaced(status: 204)))),
        Course(
            "A stream of unknown length", length: nil, (offer, .proceed), (.cut, firstAsk),
            (offset(1000), .append(UploadPart(offset: 1000, end: nil, isLast: true))), (.response(200), .deliver)),
        Course(
            "A stream that is acknowledged without an end", length: nil, patience: 1, (offer, .proceed),
            (.response(204, UploadFields(isComplete: false)), firstAsk),
            (offset(0), .append(UploadPart(offset: 0, end: nil, isLast: true))),
            (.response(204, UploadFields(isComplete: false)), .deliver)),
        Course(
            "A 104 after the final response", (offer, .proceed), (.response(200), .deliver), (offer, .proceed),
            (.cut, .proceed), (.response(500), .proceed)),
    ]

    /// The request is ended on purpose, which is no lack of progress.
    static let firstAskOfParts = UploadStep.ask(attempt: 0)

    @Test("Each course of events takes its steps", arguments: courses)
    func course(course: Course) {
        var state = UploadState(creating: course.length, version: course.version, patience: course.patience)
        func sendPart() {
            state.beginPart()
            state.send(min(state.part.length ?? course.sending, course.sending))
        }
        sendPart()
        for (index, (arrival, expected)) in course.steps.enumerated() {
            let step =
                switch arrival {
                case .interim(let fields, let location): state.receiveInterim(fields, namesResource: location)
                case .response(let status, let fields, let location):
                    state.receive(status: status, fields, namesResource: location)
                case .cut: state.receiveCut()
                }
            #expect(step == expected, "step \(index + 1)")
            switch step {
            case .append, .create: sendPart()
            case .proceed, .ask, .follow, .deliver, .giveUp, .fail: break
            }
        }
    }

    @Test("An upload that was created before asks first, and goes on from the offset")
    func resumed() {
        var state = UploadState(resuming: 100, acknowledged: 20, sent: nil, version: .eight, patience: 1)
        #expect(state.phase == .asking && state.isResumable)
        #expect(state.receive(status: 204, UploadFields(offset: 30), namesResource: false) == Self.rest(30))
        #expect(state.acknowledged == 30 && state.sent == nil)
    }

    @Test("What the process before has sent is a bound")
    func resumedWithin() {
        var state = UploadState(resuming: 100, acknowledged: 20, sent: 30, version: .eight, patience: 1)
        let step = state.receive(status: 204, UploadFields(offset: 31), namesResource: false)
        #expect(step == .fail(.neverSent(offset: 31, sent: 30)))
    }

    @Test("An upload can be resumed once it was offered, until it is over")
    func resumability() {
        var state = UploadState(creating: 100, version: .eight, patience: 1)
        #expect(!state.isResumable)
        _ = state.receiveInterim(UploadFields(version: .eight), namesResource: true)
        #expect(state.isResumable)
        state.end()
        #expect(!state.isResumable)
    }
}
