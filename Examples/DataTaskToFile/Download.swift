import Foundation

/// A download as the screen uses it, with each of the implementations.
@MainActor
protocol Download: AnyObject {
    /// Called with the bytes received and, if known, the total.
    var onProgress: (_ received: Int64, _ total: Int64?) -> Void { get set }
    /// Called with messages.
    var onMessage: (String) -> Void { get set }
    /// Called when the session is closed.
    var onEnd: () -> Void { get set }

    /// The bytes on disk.
    var size: Int64 { get }
    /// The length of the whole file, if it is known.
    var total: Int64? { get }

    func start()
    func suspend()
    func resume()
    func cancel()
    func close()
}
