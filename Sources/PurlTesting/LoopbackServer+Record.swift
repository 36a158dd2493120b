extension LoopbackServer {
    /// What has happened so far.
    public var record: Record { recorder.record.value }

    /// The requests so far, in the order their heads arrived, with what became of their answers by now.
    public var requests: [ReceivedRequest] { recorder.record.read(\.requests) }

    /// The WebSocket connections so far, in the order in which they were accepted.
    public var webSockets: [ReceivedWebSocket] { recorder.record.read(\.webSockets) }

    /// How many connections are open now.
    public var openConnections: Int { recorder.record.read(\.openConnections) }

    /// How many connections have been accepted.
    public var acceptedConnections: Int { recorder.record.read(\.acceptedConnections) }

    /// Drops the requests recorded so far, so that the next one is `requests[0]`. Their numbers go on counting.
    public func forgetRequests() {
        recorder.forget()
    }

    /// Returns the requests so far as soon as `count` of them have arrived, bodies included.
    ///
    /// Like all waiting here it takes no time of its own, and returns early when the calling task is cancelled.
    @discardableResult
    public func waitForRequests(_ count: Int) async -> [ReceivedRequest] {
        await recorder.record.wait { $0.completeRequests >= count }
        return requests
    }

    /// Returns the requests so far as soon as none is being answered.
    @discardableResult
    public func waitUntilIdle() async -> [ReceivedRequest] {
        await recorder.record.wait { $0.unansweredRequests == 0 }
        return requests
    }

    /// Returns as soon as no connection is open.
    public func waitUntilDisconnected() async {
        await recorder.record.wait { $0.openConnections == 0 }
    }

    /// Returns as soon as `condition` holds for what has happened so far: that a stalled answer has sent so many bytes,
    /// that so much of an upload has arrived, and the like.
    ///
    /// ```swift
    /// await server.wait { $0.requests.last?.bytesSent == 1000 }
    /// ```
    public func wait(until condition: @Sendable (Record) -> Bool) async {
        while !Task.isCancelled {
            let record = recorder.record.value
            if condition(record) { return }
            let seen = record.version
            await recorder.record.wait { $0.version != seen }
        }
    }
}
