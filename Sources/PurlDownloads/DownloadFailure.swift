import Foundation
import Purl

/// A failure that this library detects; users receive it as a `URLError`.
struct DownloadFailure: Error {
    let code: URLError.Code
    let sentence: String
    var underlying: (any Error)?
    /// The response that is the failure, if it is one.
    var response: HTTPURLResponse?

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

    static let cancelled = DownloadFailure(.cancelled, "The download was cancelled.")
    static let invalidated = DownloadFailure(.cancelled, "The download's manager was invalidated.")

    /// The error that users receive.
    func urlError(for url: URL) -> URLError {
        var info: [String: Any] = [
            NSLocalizedDescriptionKey: sentence,
            NSURLErrorFailingURLErrorKey: url,
            "NSErrorFailingURLStringKey": url.absoluteString,
        ]
        if let underlying { info[NSUnderlyingErrorKey] = underlying }
        if let response { info[URLError.httpStatusCodeKey] = response.statusCode }
        return URLError(code, userInfo: info)
    }
}

extension URLError {
    /// The `userInfo` key of the HTTP status, an `Int`, with which the server refused a download.
    public static let httpStatusCodeKey = "PurlDownloadsHTTPStatusCode"

    /// The HTTP status with which the server refused a download: 404, 503 and so on.
    public var httpStatusCode: Int? { userInfo[Self.httpStatusCodeKey] as? Int }
}
