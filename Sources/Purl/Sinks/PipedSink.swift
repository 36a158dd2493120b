import Foundation
internal import PurlIO

/// A sink that takes content which does not pass through the process.
protocol PipedSink: BodySink {
    /// Adds `count` bytes, which are in the pipe, at the end.
    func append(_ count: Int, from pipe: ContentPipe) throws
}
