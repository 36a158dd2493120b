/// Everybody who hears of one download.
struct Audience: Sendable {
    private struct WeakStream: Sendable {
        weak let stream: EventStream?
    }

    private var observations: [Observation] = []
    /// A stream that nobody holds has nobody to read it.
    private var streams: [WeakStream] = []

    mutating func add(_ observation: Observation) { observations.append(observation) }

    mutating func add(_ stream: EventStream) { streams.append(WeakStream(stream: stream)) }

    /// Tells everybody. The calls returned are to be made when no lock is held any more.
    ///
    /// - Parameter closing: These are the last events: the audience goes home.
    mutating func hear(_ events: [Downloader.Event], closing: Bool) -> [@Sendable () -> Void] {
        guard !events.isEmpty || closing else { return [] }
        var calls: [@Sendable () -> Void] = []
        for listener in observations {
            if let call = listener.put(events, closing: closing) { calls.append(call) }
        }
        streams.removeAll { $0.stream == nil }
        for listener in streams {
            if let call = listener.stream?.put(events, closing: closing) { calls.append(call) }
        }
        if closing {
            observations = []
            streams = []
        }
        return calls
    }
}
