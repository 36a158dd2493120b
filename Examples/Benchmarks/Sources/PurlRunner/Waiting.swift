import Dispatch
import Foundation
import Measuring

#if PURL
    import Purl
#else
    import FoundationNetworking
#endif

/// Many transfers at once, which the server lets wait until all of them have arrived.
///
/// The counts are written on the delegate queue, which is serial.
final class Waiting: @unchecked Sendable {
    private let url: URL
    private let count: Int
    private let done = DispatchSemaphore(value: 0)
    private var finished = 0
    private var good = 0
    private var bytes: Int64 = 0

    init(_ url: URL, _ count: Int) {
        self.url = url
        self.count = count
    }

    func run() {
        let configuration = URLSessionConfiguration.measured
        configuration.httpMaximumConnectionsPerHost = count
        configuration.timeoutIntervalForRequest = 600
        let session = URLSession(configuration: configuration)
        let before = residentMemory()
        let start = DispatchTime.now()
        for _ in 0..<count {
            session.dataTask(with: url) { [self] data, response, _ in
                if (response as? HTTPURLResponse)?.statusCode == 200 {
                    good += 1
                    bytes += Int64(data?.count ?? 0)
                }
                finished += 1
                if finished == count { done.signal() }
            }.resume()
        }
        done.wait()
        let seconds = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9
        Figures(seconds: seconds, requests: good, bytes: bytes, memoryBefore: before).print()
    }
}
