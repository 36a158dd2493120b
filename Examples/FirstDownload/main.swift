import Dispatch
import Foundation
import Purl

let file = URL(fileURLWithPath: "image.iso")
let saved = URL(fileURLWithPath: "image.iso.resume")

final class Download: NSObject, URLSessionDownloadDelegate, Sendable {
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        print("\(totalBytesWritten) of \(totalBytesExpectedToWrite)")
        fflush(nil)  // a pipe, too, has each line at once
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        // The page of an error is downloaded like a file.
        let status = (downloadTask.response as? HTTPURLResponse)?.statusCode ?? 0
        guard status < 400 else { return print("The server responded with \(status).") }
        do { try FileManager.default.moveItem(at: location, to: file) } catch { print(error) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        try? FileManager.default.removeItem(at: saved)
        if let error = error as NSError? {
            print(error.code == URLError.cancelled.rawValue ? "Paused." : error.localizedFailureReason ?? "\(error)")
        }
        // A lost connection and a pause both leave resume data: a small property list.
        try? (error as? URLError)?.downloadTaskResumeData?.write(to: saved)
        exit(FileManager.default.fileExists(atPath: file.path) ? 0 : 1)
    }
}

guard !FileManager.default.fileExists(atPath: file.path) else {
    print("image.iso is complete.")
    exit(0)
}
let session = URLSession(configuration: .default, delegate: Download(), delegateQueue: nil)
let task =
    if let resumeData = try? Data(contentsOf: saved) {
        // If the file has changed on the server, the download starts over.
        session.downloadTask(withResumeData: resumeData)
    } else {
        session.downloadTask(with: URL(string: "http://mirror.example/image.iso")!)
    }

signal(SIGINT, SIG_IGN)
let interruption = DispatchSource.makeSignalSource(signal: SIGINT, queue: .main)
interruption.setEventHandler { task.cancel(byProducingResumeData: { _ in }) }
interruption.setRegistrationHandler { task.resume() }  // from now on Ctrl-C pauses it
interruption.resume()
dispatchMain()
