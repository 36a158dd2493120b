import Foundation
internal import PurlIO

/// Why a request's body could not be sent to its end, for reasons on this side of the connection.
enum BodyFailure: Error {
    /// The URL of an upload's file is not a file URL.
    case notAFile(URL)
    /// The file could not be opened or read.
    case file(URL, SystemError)
    /// The file no longer has the length that was announced.
    case fileChanged(URL)
    /// The file is not the one whose beginning was sent.
    case fileReplaced(URL, FileChange)
    /// The stream has failed; with its own error where it has one.
    case stream((any Error)?)
    /// The sequence has thrown this error.
    case sequence(any Error)
    /// The stream or the sequence ended before the length its user had promised.
    case tooShort(length: Int64)
    /// The stream or the sequence has more bytes than its user had promised.
    case tooLong(length: Int64)
    /// A stream is needed, or needed again, and neither the request nor the delegate has one.
    case noStream

    var code: URLError.Code {
        switch self {
        case .notAFile: .cannotOpenFile
        case .file(_, let error): error.codeOfReading
        case .tooLong: .dataLengthExceedsMaximum
        case .fileChanged, .fileReplaced, .stream, .sequence, .tooShort, .noStream: .requestBodyStreamExhausted
        }
    }

    var underlying: (any Error)? {
        switch self {
        case .file(_, let error): error
        case .stream(let error): error
        case .sequence(let error): error
        case .notAFile, .fileChanged, .fileReplaced, .tooShort, .tooLong, .noStream: nil
        }
    }
}

extension BodyFailure: CustomStringConvertible {
    var description: String {
        switch self {
        case .notAFile(let url):
            "“\(url)” names no file to be sent."
        case .file(let url, let error):
            "The file \(url.path) could not be read: \(error.reason)."
        case .fileChanged(let url):
            "The file \(url.path) changed its length while it was to be sent."
        case .fileReplaced(let url, let change):
            "The file \(url.path) has changed since its beginning was sent: \(change)."
        case .stream(let error):
            "The request's body stream failed\(error.map { ": \($0.reason)" } ?? "")."
        case .sequence(let error):
            "The sequence of the request's body failed: \(error.reason)."
        case .tooShort(let length):
            "The request's body stream ended before the \(length) bytes of its Content-Length."
        case .tooLong(let length):
            "The request's body stream has more than the \(length) bytes of its Content-Length."
        case .noStream:
            "The request's body stream has been read, and no new one was given."
        }
    }
}
