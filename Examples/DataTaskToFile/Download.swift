import Foundation

/// What the screen needs of a download, whichever way it is made.
@MainActor
protocol Download: AnyObject {
    /// What to show: bytes so far and, where known, in all.
    var onProgress: (_ received: Int64, _ total: Int64?) -> Void { get set }
    /// What to say.
    var onMessage: (String) -> Void { get set }
    /// Nothing more will come.
    var onEnd: () -> Void { get set }

    /// What is on disk.
    var size: Int64 { get }
    /// What was to come, as far as anybody has said.
    var total: Int64? { get }

    func start()
    func suspend()
    func resume()
    func cancel()
    func close()
}
