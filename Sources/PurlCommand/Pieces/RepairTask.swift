import Foundation
import Purl
import PurlHTTP

/// One attempt at the bytes of consecutive pieces of a file: a data task, and its delegate, which writes each piece to its place
/// once its digest is right.
///
/// The digests prove what arrives, so no validator is needed: a server with another version has other bytes, and none of them
/// reach the file.
final class RepairTask: NSObject, URLSessionDataDelegate {
    /// What is known of the attempt.
    struct Report {
        /// The first piece that has not been written.
        var next: Int
        /// Why nothing more was written.
        var obstacle: Obstacle?
        var response: HTTPURLResponse?
        /// The task's error.
        var error: (any Error)?
        /// How many bytes have arrived.
        var received: Int64 = 0
        /// The file's length, as the server says it.
        var length: Int64?
        /// What has arrived of ``next``.
        fileprivate var piece = Data()
    }

    /// Why an attempt was ended on this side.
    enum Obstacle {
        /// The response is not what was requested: a clause.
        case response(String)
        case httpError(status: Int)
        /// The server's piece has another digest.
        case wrongPiece(Int)
        /// The piece cannot be written.
        case file(any Error)
        /// A redirect that is not followed.
        case refused(CommandFailure)
    }

    private let pieces: Range<Int>
    private let digests: PieceDigests
    private let file: FileHandle
    private let trace: VerboseLog
    private let refusal: @Sendable (URLRequest) -> CommandFailure?
    private let onAccept: @Sendable (URLSessionTask) -> Void
    private let report: PendingReport<Report>

    /// - Parameters:
    ///   - pieces: What is requested.
    ///   - file: What it is written to.
    ///   - refusal: Why a redirect to a request is not followed; `nil` where it is.
    ///   - onAccept: Called before the first byte is read.
    init(
        _ pieces: Range<Int>, of digests: PieceDigests, to file: FileHandle, trace: VerboseLog,
        refusal: @escaping @Sendable (URLRequest) -> CommandFailure?,
        onAccept: @escaping @Sendable (URLSessionTask) -> Void
    ) {
        (self.pieces, self.digests, self.file, self.trace) = (pieces, digests, file, trace)
        (self.refusal, self.onAccept) = (refusal, onAccept)
        report = PendingReport(Report(next: pieces.lowerBound))
    }

    /// Runs the task to its end. Cancelling the calling task cancels it.
    func run(_ request: URLRequest, in session: URLSession) async -> Report {
        var request = request
        // To the end, where the last byte is not known.
        let end = digests.length.map { String(digests.bytes(of: pieces, length: $0).upperBound - 1) }
        let isLast = pieces.upperBound == digests.digests.count
        let last = end ?? (isLast ? "" : String(Int64(pieces.upperBound) * digests.pieceLength - 1))
        request.setValue("bytes=\(firstByte)-\(last)", forHTTPHeaderField: "Range")
        request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        request.cachePolicy = .reloadIgnoringLocalCacheData
        let task = session.dataTask(with: request)
        task.delegate = self
        return await withTaskCancellationHandler {
            await report.wait { task.resume() }
        } onCancel: {
            task.cancel()
        }
    }

    private var firstByte: Int64 { Int64(pieces.lowerBound) * digests.pieceLength }

    // MARK: Delegate calls

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        trace.redirect(response, of: task, to: request)
        let refusal = refusal(request)
        if let refusal { report.update { $0.obstacle = .refused(refusal) } }
        completionHandler(refusal == nil ? request : nil)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        trace.request(dataTask.sentRequest)
        if let response = response as? HTTPURLResponse { trace.response(response) }
        let isAccepted = report.update { report in
            guard report.obstacle == nil else { return false }
            report.response = response as? HTTPURLResponse
            switch length(in: report.response) {
            case .success(let length): report.length = length
            case .failure(let obstacle): report.obstacle = obstacle.reason
            }
            return report.obstacle == nil
        }
        trace.call("didReceive response", isAccepted ? "allow" : "cancel")
        if isAccepted { onAccept(dataTask) }
        completionHandler(isAccepted ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isRight = report.update { take(data, &$0) }
        if !isRight { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        trace.completion(of: task, error, nil)
        report.end { $0.error = error }
    }

    // MARK: The response

    private struct Refusal: Error {
        let reason: Obstacle
    }

    /// The file's length, if the response is the bytes that were requested.
    private func length(in response: HTTPURLResponse?) -> Result<Int64, Refusal> {
        func refuse(_ obstacle: Obstacle) -> Result<Int64, Refusal> { .failure(Refusal(reason: obstacle)) }
        guard let response else { return refuse(.response("is not one of an HTTP server")) }
        guard response.statusCode < 400 else { return refuse(.httpError(status: response.statusCode)) }
        guard response.statusCode == 206 else {
            return refuse(.response("has the status \(response.statusCode): it does not send parts of this file"))
        }
        guard let field = response.value(forHTTPHeaderField: "Content-Range"), let range = ContentRange(field),
            let bounds = range.bounds, let total = range.completeLength
        else { return refuse(.response("does not say which bytes it has")) }
        guard digests.fits(length: total) else {
            return refuse(.response("is of a file of \(total) bytes, which the list is not about"))
        }
        let wanted = digests.bytes(of: pieces, length: total)
        // It may be shorter than what was requested (RFC 9110 §15.3.7).
        guard bounds.lowerBound == wanted.lowerBound, bounds.upperBound < wanted.upperBound else {
            return refuse(.response("has bytes \(bounds.lowerBound)-\(bounds.upperBound)"))
        }
        return .success(total)
    }

    /// Adds bytes, and writes the pieces that they complete. `false` when no more are needed.
    private func take(_ data: Data, _ report: inout Report) -> Bool {
        guard report.obstacle == nil, let length = report.length else { return false }
        report.received += Int64(data.count)
        var rest = data
        while !rest.isEmpty, report.next < pieces.upperBound {
            let place = digests.bytes(of: report.next..<report.next + 1, length: length)
            let part = rest.prefix(place.count - report.piece.count)
            report.piece += part
            rest = rest.dropFirst(part.count)
            guard report.piece.count == place.count else { return true }
            var digest = SHA256()
            digest.update(report.piece.bytes)
            guard Checksum(digest) == digests.digests[report.next] else {
                report.obstacle = .wrongPiece(report.next)
                return false
            }
            do {
                try file.seek(toOffset: UInt64(place.lowerBound))
                try file.write(contentsOf: report.piece)
            } catch {
                report.obstacle = .file(error)
                return false
            }
            report.piece.removeAll(keepingCapacity: true)
            report.next += 1
        }
        return true
    }
}
