import Foundation
package import PurlIO

/// A place that takes a body's bytes one after another, and may hold some already.
///
/// A data task that writes to a sink (``URLSession/dataTask(with:writingTo:)-(URLRequest,_)``) asks the sink for its ``length`` and
/// its record, requests what is missing, and appends it. ``FileHandleSink`` and ``OutputStreamSink`` are two; write
/// your own to put bytes elsewhere. Everything is called on a queue of the task's own, one call at a time, and may
/// block: no other transfer waits for it. What a sink throws ends the task with `URLError.cannotWriteToFile` (or
/// `.cannotOpenFile` when `length` throws), the thrown error underneath.
public protocol BodySink: AnyObject, Sendable {
    /// How many bytes the sink holds.
    ///
    /// After the process was killed, bytes that were appended since the last record count, too, as long as the machine has
    /// not booted: so this must be the number of bytes that ``bytes(in:)`` would return in the order they were appended.
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

    /// The task is over. A later task may use the sink again, and should not before: what two tasks append is mixed. The sinks
    /// of this library refuse the second one, with `URLError.cannotOpenFile`.
    func close() throws
}

/// A sink that is recorded while bytes are appended: all but `append` and `truncate` may be called on another thread
/// meanwhile.
package protocol ConcurrentSink: BodySink {
    /// What a complete transfer waits for.
    var completion: SinkCompletion { get }

    /// Returns a call that waits until everything appended so far is safe. The sink may be closed before it returns.
    func makeSynchronization() throws -> @Sendable () throws -> Void

    /// Returns when the record that was saved last would survive a power loss.
    func synchronizeRecord() throws

    /// Closes the sink without waiting for the disk.
    func closeWithoutWaiting() throws
}

/// What the completion of a transfer into a file promises.
package enum SinkCompletion: Sendable {
    /// The bytes and their record have reached the disk.
    case safe
    /// The bytes have been written, as by any program that does not synchronise. The record stays as it is: a later task
    /// finds the whole file as long as the machine has not booted.
    case written
}

/// A sink that is a file, or may be one: failures and records name it.
package protocol FileSink: BodySink {
    /// The file; `nil` where it has no name.
    var fileURL: URL? { get }

    /// What the record calls the place of the bytes.
    var recordedName: String { get }

    /// Reserves room on the disk for `total` bytes, if the sink is to do that. By default it does nothing.
    func reserve(upTo total: Int64) throws
}

extension FileSink {
    package func reserve(upTo total: Int64) throws {}
}

/// A sink that takes content which does not pass through the process.
package protocol PipedSink: BodySink {
    /// Adds `count` bytes, which are in the pipe, at the end.
    func append(_ count: Int, from pipe: ContentPipe) throws
}

/// A sink that may hold parts of a resource that do not follow one another. What is missing is requested part by part.
package protocol GappedSink: BodySink {
    /// What the task that writes to the sink is to request next.
    func nextGap() throws -> SinkGap
}

/// What is missing in a ``GappedSink``.
package enum SinkGap: Sendable, Equatable {
    /// The bytes follow one another: what follows the last one.
    case rest
    /// These bytes; what follows them is there, or others bring it.
    case range(Range<Int64>)
    /// Others bring everything that is missing.
    case ofOthers
    /// Nothing.
    case none
}

/// A sink that takes what one response brings, a part of a resource for example: the task's own `Range` is sent, and nothing is
/// resumed.
package protocol PartSink: BodySink {}

/// A sink that one task at a time may use.
package protocol ExclusiveSink: BodySink {
    /// Whose turn it is.
    var turn: SinkTurn { get }
}

/// What a sink can do beyond ``BodySink``: found out once, when a transfer opens the sink.
struct SinkCapabilities: Sendable {
    let file: (any FileSink)?
    let piped: (any PipedSink)?
    let concurrent: (any ConcurrentSink)?
    let exclusive: (any ExclusiveSink)?

    init(of sink: any BodySink) {
        file = sink as? any FileSink
        piped = sink as? any PipedSink
        concurrent = sink as? any ConcurrentSink
        exclusive = sink as? any ExclusiveSink
    }
}

extension BodySink {
    /// The owner of a sink gets the system's errors as Foundation has them.
    static func posix<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch { throw error.asUnderlying }
    }
}
