internal import Foundation
internal import Purl
internal import PurlTesting

/// Compares what was seen with what had to be.
struct Verdict {
    let cell: Cell
    let url: URL
    let stage: Stage

    func judge(_ sight: Observer.Sight, _ report: Report) {
        for offence in sight.offences { report.note(offence) }
        report.check(sight.completions == 1, "the end was reported \(sight.completions) times")
        switch cell.fault.outcome(for: cell.kind) {
        case .success(let status, let body): judgeSuccess(sight, status, body ?? stage.content.data, report)
        case .failure(let code, let place): judgeFailure(sight, code, at: place, report)
        case .either(let code, let other):
            if sight.error == nil {
                judgeSuccess(sight, 200, stage.content.data, report)
            } else {
                let isOther = (sight.error as? URLError)?.code == other
                judgeFailure(sight, isOther ? other ?? code : code, at: nil, report)
            }
        case .foreign:
            report.check(sight.error != nil, "no error")
        }
        judgeFiles(sight, report)
        if let name = sight.response?.suggestedFilename {
            let isOnePart = !name.isEmpty && !name.contains("/") && !name.contains("\0") && name != ".." && name != "."
            report.check(isOnePart, "“\(name)” for a file's name")
        }
    }

    private func judgeSuccess(_ sight: Observer.Sight, _ status: Int, _ expected: Data, _ report: Report) {
        guard sight.error == nil else { return report.note("failed: \(describe(sight.error))") }
        let found = (sight.response as? HTTPURLResponse)?.statusCode
        // A resumed download ends with a 206 where a new one ends with a 200; one that a background session has repeated with
        // a 416, when nothing was missing.
        let restStatuses: Set<Int?> = cell.kind.isBackground ? [206, 416] : cell.kind.isResumed ? [206] : []
        let isRest = status == 200 && restStatuses.contains(found)
        report.check(found == status || isRest || cell.kind.isStream, "status \(found ?? 0) in place of \(status)")
        // What is not the resource never comes to a sink.
        let body = cell.kind == .dataToFile && status == 200 ? sinkContents : sight.body
        report.check(body == expected, "a body of \(body.count) bytes in place of these \(expected.count)")
    }

    private func judgeFailure(_ sight: Observer.Sight, _ code: URLError.Code, at place: String?, _ report: Report) {
        guard let error = sight.error as? URLError else { return report.note("ended with \(describe(sight.error))") }
        report.check(error.code == code, "failed with \(describe(error))")
        if let readError = sight.readError as? URLError {
            report.check(readError.code == code, "a read failed with \(describe(readError))")
        }
        let expected = place.map { URL(string: $0, relativeTo: stage.url("/"))?.absoluteString ?? $0 }
        let place = error.failingURL?.absoluteString
        report.check(place == expected ?? url.absoluteString, "speaks of \(place ?? "no URL")")
        let text = error.failureSentence
        let isSentence = text.count > 10 && text.hasSuffix(".") && !text.contains("could not be completed")
        report.check(isSentence, "“\(text)” is no sentence")
        if cell.fault.isNoResponse {
            report.check(sight.response == nil && sight.body.isEmpty, "a response, though there was none")
        }
        // What came before the failure is right as far as it goes.
        if cell.kind.hearsOfData, cell.fault.sendsResource {
            report.check(stage.content.data.starts(with: sight.body), "the bytes before the failure are others")
        }
        // Who cancels while the delegate looks at the file has it, and no success.
        let mayHaveFile =
            switch cell.fault.meddling?.moment {
            case .inside(.didFinishDownloading), .afterResume: true
            case .beforeResume, .atGate, .inside, nil: false
            }
        report.check(!sight.hasFile || mayHaveFile, "a file, and an error")
    }

    /// A partial file is there if, and only if, there is resume data that names it.
    private func judgeFiles(_ sight: Observer.Sight, _ report: Report) {
        let names = stage.partialNames
        let data = (sight.error as? URLError)?.downloadTaskResumeData
        if data == nil, cell.kind.isResumed, (sight.error as? URLError)?.code == .cancelled {
            // What a task was made from that never began is still its maker's.
            return report.check(names.count <= 1, "left: \(names)")
        }
        if data == nil, cell.kind.isResumed, cell.fault.hidesPartialFile {
            return report.check(names.count == 1, "left: \(names)")
        }
        report.check(
            names.count == (data == nil ? 0 : 1), "\(data == nil ? "no" : "there is") resume data, left: \(names)")
    }

    private var sinkContents: Data { (try? Data(contentsOf: stage.sinkFile)) ?? Data() }

    private func describe(_ error: (any Error)?) -> String {
        guard let error else { return "no error" }
        guard let error = error as? URLError else { return "\(error)" }
        return "\(error.code.rawValue), “\(error.failureSentence)”"
    }
}
