/// How the loading of one URL ended.
enum Outcome: Equatable, Sendable {
    /// - Parameters:
    ///   - bytes: The file's length.
    ///   - now: How many of them were loaded now.
    case complete(bytes: Int64, now: Int64)
    case failed
    /// The server answered with a status of 400 or above.
    case httpError
    case interrupted
    /// Interrupted before its turn came.
    case notBegun
}

extension ExitCode {
    /// The worst of several outcomes: an interruption, else a failure, else a status of 400 or above; success only
    /// when all are complete.
    init(_ outcomes: [Outcome]) {
        let codes = outcomes.map { outcome -> ExitCode in
            switch outcome {
            case .complete: .success
            case .httpError: .httpError
            case .failed: .failure
            case .interrupted, .notBegun: .interrupted
            }
        }
        let ranking: [ExitCode] = [.interrupted, .failure, .httpError]
        self = ranking.first(where: codes.contains) ?? .success
    }
}
