import Foundation
internal import PurlConnections
internal import PurlIO

/// The failure of a body as users see it.
extension BodyFailure {
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

    var sentence: String {
        switch self {
        case .notAFile(let text):
            "“\(text)” names no file to be sent."
        case .file(let path, let error):
            "The file \(path) could not be read: \(error.reason)."
        case .fileChanged(let path):
            "The file \(path) changed its length while it was to be sent."
        case .fileReplaced(let path, let change):
            "The file \(path) has changed since its beginning was sent: \(change)."
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
