/// Where a resumable upload stands (draft-ietf-httpbis-resumable-upload).
///
/// ```
/// creating ──► created ──► asking ⇄ appending ──► over
///     │           └───────────┴──────────┴─────────┘
///     └────────────────────────────────────────────┘
/// ```
/// One request at a time is on its way. The server is asked for its offset only after a request has ended without a final
/// response, or with one that leaves the offset open; a request that is not interrupted is the only one.
package enum UploadPhase: CaseIterable, Sendable {
    /// The request that creates the upload, with all of the content or its first part. No upload resource is known.
    case creating
    /// The same, and the server has named an upload resource.
    case created
    /// `HEAD` asks the upload resource how much it has.
    case asking
    /// `PATCH` appends content to it.
    case appending
    /// The task has its response, or the upload cannot continue.
    case over
}

/// What can happen to a resumable upload.
package enum UploadEvent: CaseIterable, Sendable {
    /// A 104 names an upload resource, in the version that was asked for.
    case offered
    /// The same, and the server takes less in one request than is on its way.
    case offeredForParts
    /// The server takes less in all than there is.
    case oversized
    /// The request ended without a final response.
    case cut
    /// The same, after as many requests without progress as there may be.
    case cutWithoutProgress
    /// The server has all of the content: the response is the task's, whatever its status.
    case completed
    /// The server has named its offset, or has taken the part.
    case accepted
    /// 307 or 308.
    case moved
    /// Another redirect.
    case redirected
    /// 409 with the right offset.
    case conflict
    /// 413, and a part that is smaller is possible.
    case tooLarge
    /// The server does not speak the version of the request, but one that is spoken here.
    case otherVersion
    /// 4xx: the server does not want the request again. Also 5xx after as many requests without progress as there may be.
    case refused
    /// 5xx.
    case failed
    /// 401, 403 or 407: the server wants other credentials than it got.
    case forbidden
    /// The offset lies beyond the end of the content, or of what was sent of it.
    case misplaced
    /// A response that should name an offset or an upload resource, and does not.
    case unplaced
}

/// What follows an event.
package enum UploadAction: Sendable {
    /// The request continues.
    case proceed
    /// Ends the request, if it has not, and asks for the offset.
    case ask
    /// Appends from the offset on.
    case append
    /// Creates the upload again, with a smaller first part or in the other version.
    case create
    /// The redirect is followed with the same request.
    case follow
    /// The response is the task's.
    case deliver
    /// The failure of the request is the task's.
    case giveUp
    /// The upload fails, for the reason that the event is.
    case fail
}

extension UploadPhase {
    /// The phase after an event, and what to do; nil when the event has no meaning in this phase, and changes nothing.
    package func after(_ event: UploadEvent) -> (phase: UploadPhase, action: UploadAction)? {
        switch self {
        case .creating: Self.afterCreating(event)
        case .created: Self.afterCreated(event)
        case .asking: Self.afterAsking(event)
        case .appending: Self.afterAppending(event)
        case .over: nil
        }
    }

    private static func afterCreating(_ event: UploadEvent) -> (UploadPhase, UploadAction)? {
        switch event {
        case .offered: (.created, .proceed)
        case .offeredForParts: (.asking, .ask)
        case .oversized: (.over, .fail)
        case .cut, .cutWithoutProgress: (.over, .giveUp)
        case .completed: (.over, .deliver)
        case .accepted: (.appending, .append)
        // What creates an upload is an ordinary request of the task's, and so is a redirect of it.
        case .moved, .redirected: (.creating, .follow)
        case .conflict, .refused, .forbidden, .failed: (.over, .deliver)
        case .tooLarge, .otherVersion: (.creating, .create)
        case .misplaced, .unplaced: (.over, .fail)
        }
    }

    private static func afterCreated(_ event: UploadEvent) -> (UploadPhase, UploadAction)? {
        switch event {
        // Its first upload resource is the one that counts.
        case .offered: nil
        case .offeredForParts: (.asking, .ask)
        case .oversized: (.over, .fail)
        case .cut: (.asking, .ask)
        case .cutWithoutProgress: (.over, .giveUp)
        case .completed: (.over, .deliver)
        case .accepted: (.appending, .append)
        case .moved, .redirected: (.creating, .follow)
        case .conflict, .refused, .forbidden, .otherVersion: (.over, .deliver)
        case .tooLarge: (.creating, .create)
        case .failed, .unplaced: (.asking, .ask)
        case .misplaced: (.over, .fail)
        }
    }

    private static func afterAsking(_ event: UploadEvent) -> (UploadPhase, UploadAction)? {
        switch event {
        case .offered, .offeredForParts: nil
        case .oversized: (.over, .fail)
        case .cut: (.asking, .ask)
        case .cutWithoutProgress: (.over, .giveUp)
        // The response to the content was lost; this one is all there is.
        case .completed: (.over, .deliver)
        case .accepted: (.appending, .append)
        case .moved: (.asking, .follow)
        case .redirected, .conflict, .tooLarge, .otherVersion, .refused, .forbidden: (.over, .fail)
        case .failed: (.asking, .ask)
        case .misplaced, .unplaced: (.over, .fail)
        }
    }

    private static func afterAppending(_ event: UploadEvent) -> (UploadPhase, UploadAction)? {
        switch event {
        case .offered, .offeredForParts: nil
        case .oversized: (.over, .fail)
        case .cut: (.asking, .ask)
        case .cutWithoutProgress: (.over, .giveUp)
        case .completed: (.over, .deliver)
        case .accepted, .conflict: (.appending, .append)
        case .moved: (.appending, .follow)
        // It is not the content that was found wrong: with other credentials the upload continues.
        case .redirected, .forbidden: (.over, .fail)
        case .tooLarge, .failed: (.asking, .ask)
        case .otherVersion, .refused: (.over, .deliver)
        case .misplaced: (.over, .fail)
        case .unplaced: (.asking, .ask)
        }
    }
}
