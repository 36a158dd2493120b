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

/// Texts about several downloads.
enum BatchText {
    /// The current state: "2 of 7 complete, 4 downloading, 1 waiting  45.6 MB/s".
    static func progress(
        complete: Int, failed: Int, downloading: Int, of count: Int, bytesPerSecond: Double
    ) -> String {
        let waiting = max(0, count - complete - failed - downloading)
        let parts = [
            "\(complete) of \(count) complete",
            failed > 0 ? "\(failed) failed" : nil,
            downloading > 0 ? "\(downloading) downloading" : nil,
            waiting > 0 ? "\(waiting) waiting" : nil,
        ]
        let text = parts.compactMap(\.self).joined(separator: ", ")
        return bytesPerSecond >= 1 ? text + "  " + ByteText.rate(bytesPerSecond) : text
    }

    /// "4.00 MB in 0.4 s (10.0 MB/s)", or "4.00 MB, 2.50 MB of it now in 0.4 s (6.25 MB/s)".
    ///
    /// - Parameters:
    ///   - whole: The bytes on disk.
    ///   - new: Those of them that were received in this time.
    static func amount(_ whole: Int64, new: Int64, in elapsed: Duration) -> String {
        let share = new == whole ? "" : ", \(ByteText.count(new)) of it now"
        return "\(ByteText.count(whole))\(share) in \(TimeText.elapsed(elapsed))\(rate(new, in: elapsed))"
    }

    /// " (10.0 MB/s)"; empty for no time.
    static func rate(_ count: Int64, in elapsed: Duration) -> String {
        let seconds = elapsed / .seconds(1)
        return seconds > 0 ? " (\(ByteText.rate(Double(count) / seconds)))" : ""
    }

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
