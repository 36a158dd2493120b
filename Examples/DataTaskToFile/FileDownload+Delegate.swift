import Foundation
import Purl

/// The delegate methods, in the order of the calls. They come on the main queue, as the session was told;
/// `MainActor.assumeIsolated` says so to the compiler, and stops the program if it were not true.
extension FileDownload: URLSessionDataDelegate {
    /// Once, with the head of the response: nothing has been read of the body yet, nothing been written.
    nonisolated func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        MainActor.assumeIsolated {
            do {
                completionHandler(try prepare(for: response) ? .allow : .cancel)
            } catch {
                onMessage("cannot write: \(error.localizedDescription)")
                completionHandler(.cancel)
            }
        }
    }

    /// Makes the file ready for what comes; false when nothing of it may be kept.
    private func prepare(for response: URLResponse) throws -> Bool {
        guard let response = response as? HTTPURLResponse else { return false }
        switch RangeAnswer(response, size: size, record: record) {
        case .rest(let total):
            onMessage("206: appending the rest")
            record?.total = total
        case .whole(let total):
            onMessage(size > 0 ? "200: the whole comes, so the file is emptied first" : "200: the whole comes")
            try empty()
            let tag = response.value(forHTTPHeaderField: "ETag")
            // A weak tag says "as good as", not "the same bytes".
            record = PartialRecord(total: total, validator: tag?.hasPrefix("W/") == true ? nil : tag)
        case .nothingLeft:
            onMessage("416: there is no rest")
            record?.total = size
            try record?.save(for: file)
            return false
        case .wrongPart:
            onMessage("\(response.statusCode), but not for what was asked: not a byte of it is kept")
            try empty()
            return false
        case .notTheFile(let status):
            onMessage("\(status): the file stays as it is")
            return false
        }
        try record?.save(for: file)
        appender = try FileAppender(way, file)
        onProgress(size, total)
        return true
    }

    /// The record goes before the bytes do: at no moment it speaks of another version than the file holds.
    private func empty() throws {
        PartialRecord.remove(for: file)
        record = nil
        if size > 0 { try Data().write(to: file) }
        size = 0
    }

    /// Again and again. While it runs, the session reads only so far ahead: memory stays flat.
    nonisolated func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        MainActor.assumeIsolated {
            do {
                try appender?.append(data)
                size += Int64(data.count)
                onProgress(size, total)
            } catch {
                onMessage("cannot write: \(error.localizedDescription)")
                dataTask.cancel()
            }
        }
    }

    /// The last call about the task, once.
    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            appender?.close()
            appender = nil
            self.task = nil
            if error == nil {
                // A server need not have said the length; now it is known.
                record?.total = size
                try? record?.save(for: file)
            }
            if size == total { return finish("finished") }
            onMessage((error as? URLError)?.code == .cancelled ? "stopped" : "the connection was lost")
        }
    }

    /// The very last call: the session has let go of this object.
    nonisolated func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            self.session = nil
            onMessage("session closed")
            onEnd()
        }
    }
}
