import Dispatch
import Foundation
import Purl

let file = URL(fileURLWithPath: "image.iso")

final class Mirror: NSObject, URLSessionDownloadDelegate, Sendable {
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        let status = (downloadTask.response as? HTTPURLResponse)?.statusCode ?? 0
        guard status < 400 else { return print("The server responded with \(status).") }
        do { try FileManager.default.moveItem(at: location, to: file) } catch { print(error) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error { print((error as NSError).localizedFailureReason ?? error.localizedDescription) }
        // The task is in the journal until this call has returned: the program ends after it.
        session.finishTasksAndInvalidate()
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        exit(FileManager.default.fileExists(atPath: file.path) ? 0 : 1)
    }
}

guard !FileManager.default.fileExists(atPath: file.path) else {
    print("image.iso is complete.")
    exit(0)
}
let configuration = URLSessionConfiguration.background(withIdentifier: "com.example.mirror")
configuration.continuesDownloadsAfterRelaunch = true
let session = URLSession(configuration: configuration, delegate: Mirror(), delegateQueue: nil)
session.getAllTasks { tasks in
    // The task of a process that was killed is here again, and continues by itself.
    print(tasks.isEmpty ? "begins" : "continues")
    fflush(nil)  // also into a file, before a kill
    if tasks.isEmpty { session.downloadTask(with: URL(string: "http://mirror.example/image.iso")!).resume() }
}
dispatchMain()
