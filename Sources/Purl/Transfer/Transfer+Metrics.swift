import Foundation
internal import PurlHTTP
internal import PurlIO

/// What a transfer takes down for `urlSession(_:task:didFinishCollecting:)`: nothing, unless somebody could be told.
extension Transfer {
    /// A request is about to be made.
    func recordBeginning() {
        if let metrics {
            metrics.begin(request)
        } else if hearsOfTask {
            metrics = MetricsLog(request)
        }
    }

    /// The request of the moment is answered from here. Its content counts as it is handed on.
    ///
    /// - Parameter source: `.localCache` for the cache's answer; `.unknown` for others.
    func recordLocalAnswer(_ response: URLResponse, from source: URLSessionTaskMetrics.ResourceFetchType) {
        recordBeginning()
        metrics?.current.noteLocalAnswer(response, from: source)
    }

    /// The call that hands the metrics over, to be made right before the task's last; `nil` when there is nobody. What
    /// went on before there was a delegate is not in them.
    func metricsCall() -> DelegateQueue.Call? {
        guard metrics != nil || hearsOfTask else { return nil }
        let created = task.shared.withLock { $0.created }
        let ended = EventLoop.shared.now
        let records = metrics?.finish() ?? []
        return { [task, session, redirects = redirectsFollowed] in
            guard let delegate = task.taskDelegate else { return }
            let metrics = URLSessionTaskMetrics(records, created: created, ended: ended, redirects: redirects)
            delegate.urlSession(session, task: task, didFinishCollecting: metrics)
        }
    }
}
