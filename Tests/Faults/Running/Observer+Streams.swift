internal import Foundation
internal import Purl

extension Observer: URLSessionStreamDelegate {
    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        note(.readClosed, streamTask)
    }

    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        note(.writeClosed, streamTask)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask) {
        note(.didBecomeStream, streamTask)
    }

    /// The end of the task. The load is over when everything has been read.
    func urlSession(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {
        note(.didBecomeStreams, streamTask) { $0.isCaptured = true }
        let pair = Pair(input: inputStream, output: outputStream)
        Thread.detachNewThread { [self] in
            let (body, error) = pair.readAll()
            sight.update { sight in
                sight.completions += 1
                sight.body = body
                sight.error = error
            }
        }
    }

    /// `@unchecked Sendable`: handed to a thread, which alone has the streams from then on.
    private struct Pair: @unchecked Sendable {
        let input: InputStream
        let output: OutputStream

        func readAll() -> (Data, (any Error)?) {
            input.open()
            output.open()
            output.close()
            defer { input.close() }
            var body = Data()
            var buffer = [UInt8](repeating: 0, count: 10_000)
            while case let count = input.read(&buffer, maxLength: buffer.count), count > 0 { body += buffer[..<count] }
            return (body, input.streamError)
        }
    }
}
