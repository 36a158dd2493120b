import Foundation
internal import PurlHTTP

/// Where a request's body comes from, as its user has said it.
enum RequestBody: Sendable {
    case none
    case data(Data)
    /// The file at a URL, read anew each time the body is sent.
    case file(URL)
    case stream(BodyStream)
    /// The delegate is asked for a stream each time the body is sent.
    case streamFromDelegate
}

/// A body ready to be sent: either its length is known, or that it is not.
enum OutgoingBody: Sendable {
    case none
    case data(Data)
    /// A file reaches the connection as a file, so that the system may send it.
    case file(UploadFile)
    /// - Parameter length: What the user has promised; `nil` makes it chunked.
    case stream(BodyStream, length: Int64?)

    /// How its end is told to the server.
    var framing: BodyFraming {
        switch self {
        case .none: .none
        case .data(let data): .length(Int64(data.count))
        case .file(let file): .length(file.length)
        case .stream(_, let length?): .length(length)
        case .stream(_, nil): .chunked
        }
    }

    /// The length in bytes; `nil` when nobody knows it.
    var length: Int64? {
        switch self {
        case .none: 0
        case .data(let data): Int64(data.count)
        case .file(let file): file.length
        case .stream(_, let length): length
        }
    }
}
