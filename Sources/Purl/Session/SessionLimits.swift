import Foundation
internal import PurlHTTP

extension URLSessionConfiguration {
    /// What a session accepts from servers: sizes of what they send, redirects, silence, slowness; how fast it receives and
    /// sends; and how much a task holds in memory.
    ///
    /// A number below the smallest one that makes sense counts as that one.
    public struct Limits: Sendable, Hashable {
        /// How many bytes the head of a response may have. 65,536 by default; more make the task fail with
        /// `URLError.cannotParseResponse`, as the next two do.
        public var responseHeadBytes = 65_536

        /// How many header fields a response may have, and how many trailer fields. 256 by default.
        public var responseFields = 256

        /// How many bytes the trailer section of a chunked body may have. 16,384 by default.
        public var trailerBytes = 16_384

        /// How many interim (1xx) responses may come before the final one. 100 by default; more make the task fail with
        /// `URLError.badServerResponse`.
        public var interimResponses = 100

        /// How many redirects a task follows. 20 by default; at the next one it fails with
        /// `URLError.httpTooManyRedirects`.
        public var redirects = 20

        /// How many bytes of a response's body are collected in memory for a completion handler, or for an `await` of
        /// whole data. `nil`, the default, means any number.
        ///
        /// A body that is larger, or is announced to be, makes the task fail with `URLError.dataLengthExceedsMaximum`.
        /// Decoded bytes count. Bodies that go to a delegate, a sink or a file are not collected.
        public var collectedBytes: Int?

        /// The lowest rate at which a transfer may move its content; `nil`, the default, means any rate. A slower one makes
        /// the task fail with `URLError.timedOut`.
        public var lowestRate: LowestRate?

        /// How long, in seconds, a TCP connection may leave what it is sent unacknowledged before it counts as lost. 120 by
        /// default; zero means as long as the system allows, which is about a quarter of an hour, or for ever where a
        /// connection only waits.
        ///
        /// A connection on which nothing arrives is probed from half of that time on (keep-alive), so that a WebSocket
        /// or a stream that only waits learns that its peer, or the network, is gone. A peer that acknowledges, but takes
        /// nothing for that long, counts as lost, too. The task fails with `URLError.networkConnectionLost`. The system
        /// counts whole seconds, and does so by its own clock.
        public var unacknowledgedTime: TimeInterval = 120

        /// How many received bytes a task may hold that its delegate or file has not taken yet. 1 MiB by default.
        ///
        /// At the limit the task stops reading from its socket, so that the server waits and memory does not grow.
        public var bufferedBytesPerTask = 1 << 20 {
            didSet { bufferedBytesPerTask = max(1, bufferedBytesPerTask) }
        }

        /// How many bytes all of the session's tasks together may receive in a second. `nil`, the default: no limit.
        ///
        /// Bytes from connections count, heads, framing and coded bodies included; responses from the cache or from a
        /// ``URLProtocol`` do not. Tasks take turns, with the same share for each. Over one second the rate is kept to
        /// within a tenth. Waiting for its turn is progress as far as a task's
        /// ``URLSessionConfiguration/timeoutIntervalForRequest`` is concerned;
        /// ``URLSessionConfiguration/timeoutIntervalForResource`` keeps running. See <doc:LimitingRates>.
        public var bytesReceivedPerSecond: Int? {
            didSet { bytesReceivedPerSecond = bytesReceivedPerSecond.map { max(1, $0) } }
        }

        /// How many bytes all of the session's tasks together may send in a second, heads and framing included. `nil`, the
        /// default: no limit. The rules are those of ``bytesReceivedPerSecond``.
        public var bytesSentPerSecond: Int? {
            didSet { bytesSentPerSecond = bytesSentPerSecond.map { max(1, $0) } }
        }

        public init() {}

        var heads: HeadLimits {
            HeadLimits(
                maximumBytes: max(1, responseHeadBytes), maximumFields: max(1, responseFields),
                maximumTrailerBytes: max(2, trailerBytes), maximumInterimResponses: max(0, interimResponses))
        }

        /// `nil`: the system's own.
        var unacknowledgedLimit: Duration? {
            guard unacknowledgedTime > 0, unacknowledgedTime < 2_000_000 else { return nil }
            return .milliseconds(Int64((unacknowledgedTime * 1000).rounded(.up)))
        }
    }

    /// A number of bytes a second, on average over an interval.
    public struct LowestRate: Sendable, Hashable {
        /// How many bytes of content have to be moved in a second, on average.
        public let bytesPerSecond: Int

        /// Over how many seconds the average is taken. The time in which nothing is expected of the network does not count:
        /// a suspended task, a delegate with as many bytes as it may have, the session's own limit of its rate.
        public let interval: TimeInterval

        /// A rate of `bytesPerSecond`, averaged over `interval`.
        ///
        /// - Parameters:
        ///   - bytesPerSecond: How many bytes of content have to be moved in a second; less than 1 counts as 1.
        ///   - interval: Over how many seconds the average is taken; less than a tenth of one counts as that.
        public init(bytesPerSecond: Int, interval: TimeInterval) {
            self.bytesPerSecond = max(1, bytesPerSecond)
            self.interval = interval >= 0.1 ? interval : 0.1
        }
    }
}
