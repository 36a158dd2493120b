import Foundation
import Purl

/// A failure that this library detects; users receive it as a `URLError`.
struct DownloadFailure: Error {
    let code: URLError.Code
    let sentence: String
    var underlying: (any Error)?
    /// The response that is the failure, if it is one.
    var response: HTTPURLResponse?
    /// The digest of a file that is not the expected one.
    var unexpectedSHA256: String?

    init(_ code: URLError.Code, _ sentence: String, _ underlying: (any Error)? = nil) {
        self.code = code
        self.sentence = sentence
        self.underlying = underlying
    }

    /// A response that is not the resource.
    init(response: HTTPURLResponse) {
        let status = response.statusCode
        code =
            switch status {
            case 401: .userAuthenticationRequired
            case 403: .noPermissionsToReadFile
            case 404, 410: .fileDoesNotExist
            default: .badServerResponse
            }
        let reason = HTTPURLResponse.localizedString(forStatusCode: status)
        sentence = "The server answered \(status) (\(reason)) instead of the file."
        self.response = response
    }

    /// A failed system call.
    init(_ code: URLError.Code, _ sentence: String, errno number: Int32) {
        self.init(
            code, "\(sentence) \(String(cString: strerror(number))).",
            NSError(domain: NSPOSIXErrorDomain, code: Int(number)))
    }

    /// Whether what is on this machine has failed.
    static func isOfFile(_ error: any Error) -> Bool {
        let codes: Set<URLError.Code> = [.cannotCreateFile, .cannotOpenFile, .cannotWriteToFile, .cannotMoveFile]
        return (error as? URLError).map { codes.contains($0.code) } ?? true
    }

    /// Whether another server may do better.
    static func isOfServer(_ error: any Error) -> Bool {
        !isOfFile(error) && (error as? URLError)?.code != .cancelled
    }

    static let notOfHTTP = DownloadFailure(.unsupportedURL, "Only http and https URLs can be downloaded.")
    static let cancelled = DownloadFailure(.cancelled, "The download was cancelled.")
    static let invalidated = DownloadFailure(.cancelled, "The download's manager was invalidated.")

    /// No code stands for a wrong argument: no request was made, and no server has done anything.
    static func malformedDigest(_ text: String) -> DownloadFailure {
        DownloadFailure(.unknown, "“\(text)” is not a SHA-256, which has 64 hexadecimal digits.")
    }

    /// What happens to the bytes of a file that has another digest than a caller expects.
    enum Remainder {
        case isDeleted
        /// They have the digest that the server has sent.
        case isKept
        /// Another caller expects them.
        case belongsToAnotherCaller
    }

    /// A file that has another digest than a caller expects.
    ///
    /// - Parameter expected: The digests of which the file should have had one.
    static func mismatch(found: String, expected: [String], _ remainder: Remainder) -> DownloadFailure {
        let consequence =
            switch remainder {
            case .isDeleted: "the received bytes were deleted"
            case .isKept: "the received bytes are kept, because they have the digest that the server sent"
            case .belongsToAnotherCaller: "another caller of the same URL expected this file"
            }
        let wanted = expected.joined(separator: " or ")
        var failure = DownloadFailure(
            .badServerResponse, "The file's SHA-256 is \(found), but \(wanted) was expected; \(consequence).")
        failure.unexpectedSHA256 = found
        return failure
    }

    /// The error that users receive. Its description is the sentence: Foundation's for the code would name a cause that is
    /// seldom the right one, such as “cannot decode content data” for a wrong checksum.
    func urlError(for url: URL) -> URLError {
        var info: [String: Any] = [
            NSLocalizedDescriptionKey: sentence,
            NSURLErrorFailingURLErrorKey: url,
            "NSErrorFailingURLStringKey": url.shownText,
        ]
        if let underlying { info[NSUnderlyingErrorKey] = underlying }
        if let response { info[URLError.httpStatusCodeKey] = response.statusCode }
        if let unexpectedSHA256 { info[URLError.unexpectedSHA256Key] = unexpectedSHA256 }
        return URLError(code, reason: sentence, userInfo: info)
    }
}

extension URLError {
    /// The `userInfo` key of the HTTP status, an `Int`, with which the server refused a download.
    public static let httpStatusCodeKey = "PurlDownloadsHTTPStatusCode"

    /// The HTTP status with which the server refused a download: 404, 503 and so on.
    public var httpStatusCode: Int? { userInfo[Self.httpStatusCodeKey] as? Int }

    /// The `userInfo` key of the SHA-256, a `String` of 64 hexadecimal digits, of a file that is not the expected one.
    public static let unexpectedSHA256Key = "PurlDownloadsUnexpectedSHA256"

    /// The SHA-256 of a complete file that is not the one that was expected; `nil` for every other failure.
    public var unexpectedSHA256: String? { userInfo[Self.unexpectedSHA256Key] as? String }
}
