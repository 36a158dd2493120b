import Dispatch
import Foundation
import Measuring

#if PURL
    import Purl
#else
    import FoundationNetworking
#endif

/// One big file, down or up, with a completion handler.
struct FileTransfer {
    private let url: URL
    private let file: URL

    init(_ url: URL, _ path: String) {
        self.url = url
        file = URL(fileURLWithPath: path)
    }

    func download() {
        let configuration = URLSessionConfiguration.measured
        #if PURL
            // As with the others, the file stays on the file system it is meant for.
            configuration.partialDownloadsDirectory = file.deletingLastPathComponent()
        #endif
        let file = file
        transfer(URLSession(configuration: configuration)) { session, url, done in
            session.downloadTask(with: url) { location, response, _ in
                if let location, (response as? HTTPURLResponse)?.statusCode == 200 {
                    try? FileManager.default.moveItem(at: location, to: file)
                }
                done()
            }
        }
    }

    func upload() {
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let configuration = URLSessionConfiguration.measured
        #if PURL
            // Whether the request says that the upload can be resumed.
            let isResumable = ProcessInfo.processInfo.environment["RESUMABLE"] == "1"
            configuration.resumableUploads = isResumable ? .always : .never
        #endif
        let (request_, file) = (request, file)
        transfer(URLSession(configuration: configuration)) { session, _, done in
            session.uploadTask(with: request_, fromFile: file) { _, response, error in
                if (response as? HTTPURLResponse)?.statusCode ?? 500 >= 300 { print("not taken: \(error as Any)") }
                done()
            }
        }
    }

    private func transfer(
        _ session: URLSession, _ task: (URLSession, URL, @escaping @Sendable () -> Void) -> URLSessionTask
    ) {
        let done = DispatchSemaphore(value: 0)
        let start = DispatchTime.now()
        task(session, url) { done.signal() }.resume()
        done.wait()
        let seconds = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9
        let size = (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int64) ?? 0
        Figures(seconds: seconds, requests: size > 0 ? 1 : 0, bytes: size).print()
    }
}
