import Foundation
import Purl
import PurlHTTP
internal import PurlIO
import Synchronization

/// A sink that writes into a device, a FIFO or an open descriptor. Nothing that was written can be taken back.
///
/// It is opened when the first response is accepted. A FIFO without a reader, and one whose reader takes nothing, are waited
/// for until ``cancel()`` is called.
final class StreamSink: BodySink {
    private enum Stream {
        case closed
        case open(FileHandle)
        case cancelled
    }

    private struct State {
        var stream = Stream.closed
        var length: Int64 = 0
        var digest = SHA256()
    }

    /// A pipe with room takes so many bytes without blocking (`PIPE_BUF`).
    private static let portion = 4096
    /// How long one look at a pipe without room, or without a reader, takes, in milliseconds.
    private static let patience: Int32 = 50

    private let output: StreamOutput
    private let maximumLength: Int64
    private let state = Mutex(State())

    /// - Parameter maximumLength: The most bytes that are written; `nil` if there is no limit.
    init(_ output: StreamOutput, maximumLength: Int64?) {
        self.output = output
        self.maximumLength = maximumLength ?? .max
    }

    /// Ends the waiting for a reader; what is written next fails.
    func cancel() {
        state.withLock { $0.stream = .cancelled }
    }

    /// The checksum of all bytes that were written.
    var checksum: Checksum { state.withLock { Checksum($0.digest) } }

    // MARK: BodySink

    var length: Int64 { state.withLock { $0.length } }

    func append(_ data: Data) throws {
        let handle = try opened()
        let room = max(0, maximumLength - length)
        var rest = data.prefix(Int(clamping: room))
        while !rest.isEmpty {
            let portion = rest.prefix(Self.portion)
            try waitForRoom(handle)
            try handle.write(contentsOf: portion)
            state.withLock { state in
                state.length += Int64(portion.count)
                state.digest.update(portion.bytes)
            }
            rest = rest.dropFirst(portion.count)
        }
        if Int64(data.count) > room { throw LengthLimitPassed(maximum: maximumLength) }
    }

    func truncate(to length: Int64) throws {
        guard length == self.length else { throw Irrevocable() }
        _ = try opened()
    }

    /// No bytes: none are kept.
    func bytes(in range: Range<Int64>) -> Data { Data() }

    func synchronize() {}
    func loadRecord() -> Data? { nil }
    func saveRecord(_ record: Data?) {}

    func close() {
        state.withLock { $0.stream = .closed }
    }

    private struct Irrevocable: LocalizedError {
        var errorDescription: String? { "what was written cannot be taken back" }
    }

    // MARK: The stream

    private func opened() throws -> FileHandle {
        while true {
            switch state.withLock({ $0.stream }) {
            case .open(let handle): return handle
            case .cancelled: throw CancellationError()
            case .closed: break
            }
            guard let handle = try open() else {
                poll(nil, 0, Self.patience)
                continue
            }
            state.withLock { state in
                if case .closed = state.stream { state.stream = .open(handle) }
            }
        }
    }

    /// Opens the output; `nil` for a FIFO without a reader.
    private func open() throws -> FileHandle? {
        let descriptor: Int32
        switch output {
        case .descriptor(let number): descriptor = fcntl(number, F_DUPFD_CLOEXEC, 0)
        case .path(let url):
            // With O_NONBLOCK this does not wait for a reader, which could not be cancelled.
            descriptor = Foundation.open(url.path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
            if descriptor < 0, errno == ENXIO, FileEntry(at: url, followingLinks: true) == .pipe { return nil }
            if descriptor >= 0 { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK) }
        }
        guard descriptor >= 0 else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(errno)) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    private func waitForRoom(_ handle: FileHandle) throws {
        var request = pollfd(fd: handle.fileDescriptor, events: Int16(POLLOUT), revents: 0)
        while poll(&request, 1, Self.patience) == 0 {
            if case .cancelled = state.withLock({ $0.stream }) { throw CancellationError() }
        }
    }
}
