import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// Where a request's body comes from.
enum RequestBody: Sendable {
    case none
    case data(Data)
    /// The file at a URL, read anew each time the body is sent.
    case file(URL)
    case stream(BodyStream)
    case sequence(BodySequence)
    /// The delegate is asked for a stream each time the body is sent.
    case streamFromDelegate
    /// A part of one of the others.
    ///
    /// - Parameter file: What the file was when its beginning was sent.
    indirect case part(of: RequestBody, UploadPart, file: SentFile?)

    /// Whether any part of it can be sent at any time, without a delegate that gives a stream.
    var isStored: Bool {
        switch self {
        case .none, .data, .file: true
        case .stream, .sequence, .streamFromDelegate: false
        case .part(let whole, _, _): whole.isStored
        }
    }
}

/// A body ready to be sent: either its length is known, or that it is not.
enum OutgoingBody: Sendable {
    case none
    case data(Data)
    /// A file reaches the connection as a file, so that the system may send it.
    case file(UploadFile)
    /// - Parameter length: What the user has promised; `nil` makes it chunked.
    case stream(BodyStream, length: Int64?)
    /// - Parameter length: What the user has promised; `nil` makes it chunked.
    case sequence(BodySequence, length: Int64?)

    /// How the server finds its end.
    var framing: BodyFraming {
        switch self {
        case .none: .none
        case .data(let data): .length(Int64(data.count))
        case .file(let file): .length(file.length)
        case .stream(_, let length?), .sequence(_, let length?): .length(length)
        case .stream(_, nil), .sequence(_, nil): .chunked
        }
    }

    /// The length in bytes; `nil` when it is not known.
    var length: Int64? {
        switch self {
        case .none: 0
        case .data(let data): Int64(data.count)
        case .file(let file): file.length
        case .stream(_, let length), .sequence(_, let length): length
        }
    }

    /// The body as a connection sends it. To be called once.
    @NetworkActor var content: OutgoingContent {
        switch self {
        case .none: .none
        case .data(let data): .whole(StoredData(data))
        case .file(let file): .fed(BodyFeed(QueueReader(FileSource(file), on: .files)), length: file.length)
        case .stream(let stream, let length):
            .fed(
                BodyFeed(
                    QueueReader(StreamSource(stream, length: length), on: .bodyStreams), willBegin: stream.take),
                length: length)
        case .sequence(let sequence, let length):
            .fed(BodyFeed(SequenceReader(sequence, length: length), willBegin: sequence.take), length: length)
        }
    }
}

/// Data as a connection sends it.
private final class StoredData: StoredContent {
    private let data: Data

    init(_ data: Data) {
        self.data = data
    }

    var count: Int { data.count }

    func withBytes(_ body: (UnsafeRawBufferPointer) throws(SystemError) -> Int) throws(SystemError) -> Int {
        try data.bytes.withUnsafeBytes(body)
    }
}

/// A user's stream that a request's body is read from. It can be read once, by one transfer.
final class BodyStream: Sendable {
    // URLRequest is Sendable and carries a stream, as everywhere. It is read by one transfer, on one queue; users leave
    // it alone once the task has begun.
    nonisolated(unsafe) let stream: InputStream
    /// How many bytes at its beginning are read and not sent.
    let skipped: Int64
    private let taken = Mutex(false)

    init(_ stream: InputStream, skipping skipped: Int64 = 0) {
        self.stream = stream
        self.skipped = skipped
    }

    /// A transfer has begun to read.
    var isTaken: Bool { taken.withLock { $0 } }

    /// Marks the stream as read from.
    func take() {
        taken.withLock { $0 = true }
    }
}
