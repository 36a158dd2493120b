import Dispatch
import Foundation
import Measuring

#if PURL
    import Purl
#else
    import FoundationNetworking
#endif

/// One big response, handed to a delegate that may be slow.
///
/// The counts are written on the delegate queue, which is serial.
final class Pieces: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let url: URL
    private let pause: TimeInterval
    private let done = DispatchSemaphore(value: 0)
    private var bytes: Int64 = 0
    private var isWhole = false

    init(_ url: URL, _ pause: TimeInterval) {
        self.url = url
        self.pause = pause
    }

    func run() {
        let session = URLSession(configuration: .measured, delegate: self, delegateQueue: nil)
        let start = DispatchTime.now()
        session.dataTask(with: url).resume()
        done.wait()
        let seconds = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9
        Figures(seconds: seconds, requests: isWhole ? 1 : 0, bytes: bytes).print()
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        bytes += Int64(data.count)
        if pause > 0 { Thread.sleep(forTimeInterval: pause) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        isWhole = error == nil
        done.signal()
    }
}
