import Foundation
internal import PurlIO

/// A place that takes a body's bytes one after another, and may hold some already.
///
/// A data task that writes to a sink (``URLSession/dataTask(with:writingTo:)-(URLRequest,_)``) asks the sink for its ``length`` and
/// its record, requests what is missing, and appends it. ``FileHandleSink`` and ``OutputStreamSink`` are two; write
/// your own to put bytes elsewhere. Everything is called on a queue of the task's own, one call at a time, and may
/// block: no other transfer waits for it. What a sink throws ends the task with `URLError.cannotWriteToFile` (or
/// `.cannotOpenFile` when `length` throws), the thrown error underneath.
public protocol BodySink: AnyObject, Sendable {
    /// How many bytes the sink holds.
    var length: Int64 { get throws }

    /// Adds bytes at the end, all of them.
    ///
    /// - Parameter data: The bytes.
    func append(_ data: Data) throws

    /// Removes what lies beyond `length`, so that the next append continues there.
    ///
    /// - Parameter length: The length, in bytes.
    func truncate(to length: Int64) throws

    /// The bytes at these offsets, all of which the sink holds: they prove that it still holds what it held.
    ///
    /// - Parameter range: The offsets.
    func bytes(in range: Range<Int64>) throws -> Data

    /// Returns when everything appended is safe.
    func synchronize() throws

    /// What ``saveRecord(_:)`` kept last, in this process or an earlier one; `nil` when there is nothing.
    func loadRecord() throws -> Data?

    /// Keeps what a later task needs to resume: which resource and version the bytes belong to. `nil` removes it. It must
    /// be replaced as a whole or not at all.
    ///
    /// - Parameter record: The record; `nil` removes it.
    func saveRecord(_ record: Data?) throws

    /// The task is over. A later task may use the sink again.
    func close() throws
}

/// A sink that takes content which does not pass through the process.
protocol PipedSink: BodySink {
    /// Adds `count` bytes, which are in the pipe, at the end.
    func append(_ count: Int, from pipe: ContentPipe) throws
}
