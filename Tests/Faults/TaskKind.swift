/// Every way in which a program can have a URL loaded.
package enum TaskKind: String, CaseIterable, Sendable, CustomStringConvertible {
    case data = "data task, delegate"
    case dataHandler = "data task, handler"
    case dataAsync = "data, async"
    case bytesAsync = "bytes, async"
    case dataToFile = "data task, file sink"
    case becomingDownload = "data task that becomes a download"
    case upload = "upload task, delegate"
    case uploadHandler = "upload task, handler"
    case uploadAsync = "upload, async"
    case uploadFile = "upload task from a file"
    case uploadStream = "upload task from a stream"
    case resumableUpload = "upload task that asks for resumption"
    case download = "download task, delegate"
    case downloadHandler = "download task, handler"
    case downloadAsync = "download, async"
    case resumed = "resumed download, delegate"
    case resumedHandler = "resumed download, handler"
    case resumedAsync = "resumed download, async"
    case background = "background download"
    case backgroundUpload = "background upload"
    case stream = "stream task, handlers"
    case streamAsync = "stream task, async"
    case captured = "stream task whose streams are captured"
    case becomingStream = "data task that becomes a stream"

    package var description: String { rawValue }

    /// How its result is received.
    enum ResultStyle {
        case delegate, handler, async
    }

    var resultStyle: ResultStyle {
        switch self {
        case .data, .dataToFile, .becomingDownload, .upload, .uploadFile, .uploadStream, .resumableUpload, .download,
            .resumed, .background, .backgroundUpload, .stream, .streamAsync, .captured, .becomingStream:
            .delegate
        case .dataHandler, .uploadHandler, .downloadHandler, .resumedHandler: .handler
        case .dataAsync, .bytesAsync, .uploadAsync, .downloadAsync, .resumedAsync: .async
        }
    }

    /// It has a body to send.
    var isUpload: Bool {
        switch self {
        case .upload, .uploadHandler, .uploadAsync, .uploadFile, .uploadStream, .resumableUpload, .backgroundUpload:
            true
        case .data, .dataHandler, .dataAsync, .bytesAsync, .dataToFile, .becomingDownload, .download,
            .downloadHandler, .downloadAsync, .resumed, .resumedHandler, .resumedAsync, .background, .stream,
            .streamAsync, .captured, .becomingStream:
            false
        }
    }

    /// It resumes the file of an earlier one.
    var isResumed: Bool {
        switch self {
        case .resumed, .resumedHandler, .resumedAsync: true
        case .data, .dataHandler, .dataAsync, .bytesAsync, .dataToFile, .becomingDownload, .upload, .uploadHandler,
            .uploadAsync, .uploadFile, .uploadStream, .resumableUpload, .download, .downloadHandler, .downloadAsync,
            .background,
            .backgroundUpload, .stream, .streamAsync, .captured, .becomingStream:
            false
        }
    }

    /// It sends a file.
    var isFileUpload: Bool {
        switch self {
        case .uploadFile, .resumableUpload, .backgroundUpload: true
        default: false
        }
    }

    /// It ends as a stream: asks for the resource in its own words, and reads to the end of the stream.
    var isStream: Bool { isStreamTask || self == .becomingStream }

    /// It is a stream task from the start.
    var isStreamTask: Bool {
        switch self {
        case .stream, .streamAsync, .captured: true
        default: false
        }
    }

    /// Its reads and writes have handlers.
    var hasStreamHandlers: Bool { self == .stream || self == .becomingStream }

    /// It is a download task from the start.
    var isDownload: Bool {
        switch self {
        case .download, .downloadHandler, .downloadAsync, .background: true
        default: isResumed
        }
    }

    /// Its body goes into a partial file.
    var writesPartialFile: Bool { isDownload || self == .becomingDownload }

    var isBackground: Bool { self == .background || self == .backgroundUpload }

    /// The delegate decides about the response of its data task, and receives its bytes.
    var hearsOfData: Bool {
        switch self {
        case .data, .upload, .uploadFile, .uploadStream, .resumableUpload, .backgroundUpload: true
        default: false
        }
    }
}
