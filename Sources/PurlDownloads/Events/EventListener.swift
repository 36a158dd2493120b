/// Somebody who hears of a download.
protocol EventListener: AnyObject, Sendable {
    /// Takes events without delay. What it returns is to be called when no lock is held any more.
    func put(_ events: [Downloader.Event], closing: Bool) -> (@Sendable () -> Void)?
}
