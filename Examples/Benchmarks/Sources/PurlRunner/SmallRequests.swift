import Dispatch
import Foundation
import Measuring

#if PURL
    import Purl
#else
    import FoundationNetworking
#endif

/// Small responses, each task started from the completion handler of the one before.
///
/// Everything but `done` is written before the first request and on the delegate queue, which is serial, afterwards.
final class SmallRequests: @unchecked Sendable {
    private let url: URL
    private let count: Int
    private let concurrency: Int
    private let session: URLSession
    private let done = DispatchSemaphore(value: 0)
    private var started = 0
    private var finished = 0
    private var good = 0
    private var bytes: Int64 = 0

    init(_ url: URL, _ count: Int, _ concurrency: Int) {
        self.url = url
        self.count = count
        self.concurrency = concurrency
        let configuration = URLSessionConfiguration.measured
        configuration.httpMaximumConnectionsPerHost = concurrency
        if ProcessInfo.processInfo.environment["PLAIN"] != nil {
            configuration.httpCookieStorage = nil
            configuration.urlCache = nil
        }
        var queue: OperationQueue?
        if ProcessInfo.processInfo.environment["GIVEN_QUEUE"] != nil {
            queue = OperationQueue()
            queue?.maxConcurrentOperationCount = 1
        }
        session = URLSession(configuration: configuration, delegate: nil, delegateQueue: queue)
    }

    func run() {
        let start = DispatchTime.now()
        session.delegateQueue.addOperation { [self] in
            for _ in 0..<min(concurrency, count) { next() }
        }
        done.wait()
        let seconds = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9
        Figures(seconds: seconds, requests: good, bytes: bytes).print()
    }

    private func next() {
        guard started < count else { return }
        started += 1
        session.dataTask(with: url) { [self] data, response, _ in
            if (response as? HTTPURLResponse)?.statusCode == 200, let data {
                good += 1
                bytes += Int64(data.count)
            }
            finished += 1
            if finished == count { done.signal() } else { next() }
        }.resume()
    }
}
