import PurlHTTP
import Testing

@Suite("The phases of a resumable upload")
struct UploadPhaseTests {
    /// What follows an event: a phase and an action; nil where the event has no meaning.
    typealias Row = (phase: UploadPhase, action: UploadAction)?

    /// One row for each event: what follows it in each phase but `over`.
    static let rows: [(UploadEvent, creating: Row, created: Row, asking: Row, appending: Row)] = [
        (.offered, (.created, .proceed), nil, nil, nil),
        (.offeredForParts, (.asking, .ask), (.asking, .ask), nil, nil),
        (.oversized, (.over, .fail), (.over, .fail), (.over, .fail), (.over, .fail)),
        (.cut, (.over, .giveUp), (.asking, .ask), (.asking, .ask), (.asking, .ask)),
        (.cutWithoutProgress, (.over, .giveUp), (.over, .giveUp), (.over, .giveUp), (.over, .giveUp)),
        (.completed, (.over, .deliver), (.over, .deliver), (.over, .deliver), (.over, .deliver)),
        (.accepted, (.appending, .append), (.appending, .append), (.appending, .append), (.appending, .append)),
        (.moved, (.creating, .follow), (.creating, .follow), (.asking, .follow), (.appending, .follow)),
        (.redirected, (.creating, .follow), (.creating, .follow), (.over, .fail), (.over, .fail)),
        (.conflict, (.over, .deliver), (.over, .deliver), (.over, .fail), (.appending, .append)),
        (.tooLarge, (.creating, .create), (.creating, .create), (.over, .fail), (.asking, .ask)),
        (.otherVersion, (.creating, .create), (.over, .deliver), (.over, .fail), (.over, .deliver)),
        (.refused, (.over, .deliver), (.over, .deliver), (.over, .fail), (.over, .deliver)),
        (.failed, (.over, .deliver), (.asking, .ask), (.asking, .ask), (.asking, .ask)),
        (.forbidden, (.over, .deliver), (.over, .deliver), (.over, .fail), (.over, .fail)),
        (.misplaced, (.over, .fail), (.over, .fail), (.over, .fail), (.over, .fail)),
        (.unplaced, (.over, .fail), (.asking, .ask), (.over, .fail), (.asking, .ask)),
    ]

    @Test("Every event has its row", arguments: rows)
    func row(event: UploadEvent, creating: Row, created: Row, asking: Row, appending: Row) {
        for (phase, expected) in [
            (UploadPhase.creating, creating), (.created, created), (.asking, asking), (.appending, appending),
        ] {
            let found = phase.after(event)
            #expect(found?.phase == expected?.phase, "\(phase)")
            #expect(found?.action == expected?.action, "\(phase)")
        }
    }

    @Test("The table has all events")
    func complete() {
        #expect(Self.rows.map(\.0) == UploadEvent.allCases)
    }

    @Test("An upload that is over stays over", arguments: UploadEvent.allCases)
    func over(event: UploadEvent) {
        #expect(UploadPhase.over.after(event) == nil)
    }

    @Test("Asking for the offset is never the first request", arguments: UploadEvent.allCases)
    func asksOnlyAfterAnOffer(event: UploadEvent) throws {
        guard let next = UploadPhase.creating.after(event), next.action == .ask else { return }
        #expect(event == .offeredForParts)
    }
}
