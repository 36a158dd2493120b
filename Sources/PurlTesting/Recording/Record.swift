extension LoopbackServer {
    /// What has happened to a server so far.
    public struct Record: Sendable {
        /// The requests in the order their heads arrived.
        public internal(set) var requests: [ReceivedRequest] = []
        /// The WebSocket connections in the order in which they were accepted.
        public internal(set) var webSockets: [ReceivedWebSocket] = []
        /// The connections without HTTP in the order in which they were made.
        public internal(set) var streams: [ReceivedStream] = []
        /// How many requests have arrived (head and body), those that were not kept included.
        public internal(set) var completeRequests = 0
        /// How many requests have not had their whole answer yet.
        public internal(set) var unansweredRequests = 0
        /// How many connections are open now.
        public internal(set) var openConnections = 0
        /// How many connections have been accepted.
        public internal(set) var acceptedConnections = 0
        /// Why messages were refused with 400 because they are not HTTP, one sentence each.
        public internal(set) var badRequests: [String] = []

        /// How many requests have begun, those that were not kept included.
        var startedRequests = 0
        /// How many bytes of messages may still be kept, for each of `webSockets`.
        var webSocketRooms: [Int] = []
        /// How many bytes may still be kept, for each of `streams`.
        var streamRooms: [Int] = []
        /// The number of the first request in `requests`.
        var firstNumber = 0
        /// Grows with every change.
        var version = 0
    }
}
