import Foundation
import Purl

/// How one attempt at a download ended.
enum End {
    /// Every byte is in `FILE.part`.
    case complete
    case interrupted
    /// The bytes cannot be saved.
    case refused(CommandFailure)
    case httpError(status: Int)
    /// A status below 400 whose body is not the file.
    case notTheFile(status: Int)
    case failed(any Error)

    init(_ report: GetDelegate.Report, isInterrupted: Bool) {
        if let obstacle = report.obstacle {
            self = .refused(obstacle)
            return
        }
        switch report.reception {
        case .errorPage(let status): self = .httpError(status: status)
        case .notTheFile(let status): self = .notTheFile(status: status)
        case nil, .begins, .goesOn, .startsOver, .isComplete:
            guard let error = report.error else {
                self = .complete
                return
            }
            self = isInterrupted ? .interrupted : .failed(error)
        }
    }

    var outcome: Outcome {
        switch self {
        case .complete: .complete(bytes: 0, now: 0)
        case .interrupted: .interrupted
        case .httpError: .httpError
        case .refused, .notTheFile, .failed: .failed
        }
    }

    /// What happened, as a sentence.
    var sentence: String {
        switch self {
        case .complete: "Complete."
        case .interrupted: "Interrupted."
        case .refused(let failure): failure.sentence
        case .httpError(let status): "The server answered \(Self.describe(status))."
        case .notTheFile(let status): "The server answered \(Self.describe(status)), which is not a file."
        case .failed(let error): (error as NSError).localizedDescription
        }
    }

    private static func describe(_ status: Int) -> String {
        "\(status) (\(HTTPURLResponse.localizedString(forStatusCode: status)))"
    }
}
