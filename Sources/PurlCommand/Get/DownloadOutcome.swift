/// How the download of one URL ended.
enum DownloadOutcome: Equatable, Sendable {
    /// - Parameters:
    ///   - bytes: The file's length.
    ///   - new: How many of them this command received.
    case complete(bytes: Int64, new: Int64)
    case failed
    /// The response had a status of 400 or above.
    case httpError
    case interrupted
    /// Interrupted before the first attempt.
    case notBegun
}

extension ExitCode {
    /// The worst of several outcomes: an interruption, then a failure, then a status of 400 or above; success only when
    /// all are complete.
    init(_ outcomes: [DownloadOutcome]) {
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

extension BatchText {
    /// The last line.
    static func closing(_ outcomes: [DownloadOutcome], in elapsed: Duration) -> String {
        var (complete, whole, new) = (0, Int64(0), Int64(0))
        var (failed, interrupted) = (0, 0)
        for outcome in outcomes {
            switch outcome {
            case .complete(let bytes, let newBytes):
                complete += 1
                whole += bytes
                new += newBytes
            case .failed, .httpError: failed += 1
            case .interrupted, .notBegun: interrupted += 1
            }
        }
        let amount = complete > 0 ? ", \(amount(whole, new: new, in: elapsed))" : ""
        if complete == outcomes.count { return "\(complete) files complete\(amount)" }
        let text = "\(complete) of \(outcomes.count) files complete\(amount)"
        let failures = failed > 0 ? "; \(failed) failed" : ""
        guard interrupted > 0 else { return "\(text)\(failures)" }
        return "Interrupted: \(text)\(failures); the same command resumes"
    }
}
