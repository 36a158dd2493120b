package import PurlIO

/// Why a request's body could not be sent to its end, for reasons on this side of the connection.
package enum BodyFailure: Error {
    /// The URL of an upload's file, in this text, is not a file URL.
    case notAFile(String)
    /// The file at this path could not be opened or read.
    case file(String, SystemError)
    /// The file no longer has the length that was announced.
    case fileChanged(String)
    /// The file is not the one whose beginning was sent.
    case fileReplaced(String, FileChange)
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
}
