import Foundation

extension TransferTrace {
    /// What a delegate or a handler was called with.
    public enum Arguments: Sendable, Hashable, Codable {
        /// Content of a response.
        case bytes(Int)
        /// Bytes that were sent or written: those that the call reports, all so far, and all that there will be. The last
        /// is negative where that is unknown.
        case progress(bytes: Int64, total: Int64, expected: Int64)
        /// Where a download is resumed. The expected length is negative where that is unknown.
        case position(offset: Int64, expected: Int64)
        /// Where a request's body is to begin.
        case offset(Int64)
        /// The head of a response, with its status, or with its type where it is not one of HTTP. The expected length is
        /// negative where that is unknown.
        indirect case response(status: Int?, type: String?, expected: Int64)
        /// A response that a cache is about to store.
        indirect case caching(status: Int?, type: String?, bytes: Int)
        /// A redirect; the path alone where the URL is of the same origin.
        case redirect(status: Int, url: String)
        /// The request whose delay is over.
        case request(url: String)
        /// A challenge for credentials, with how many times they have failed.
        indirect case challenge(scheme: String, realm: String?, failures: Int)
        /// A challenge about a server's certificates.
        case serverTrust(host: String)
        /// How many requests the metrics describe.
        case metrics(requests: Int)
        /// The identifier of the task that takes the task's place.
        case task(Int)
        /// Resume data, or `nil`.
        case resumeData(isThere: Bool)
        /// The protocol that the server of a WebSocket has chosen.
        case opened(subprotocol: String?)
        /// The code and the reason of a close frame.
        case closed(code: Int, reason: String)
        /// A result without an error; the bytes that a handler receives.
        case success(bytes: Int?)
        /// An error, such as `URLError.timedOut`, and what has happened.
        case failure(code: String, sentence: String)
    }
}

// Objects are taken apart when the call begins: a trace keeps none of them.
extension TransferTrace.Arguments {
    static func response(_ response: URLResponse) -> Self {
        .response(status: response.status, type: response.plainType, expected: response.expectedContentLength)
    }

    /// - Parameter bytes: How many bytes of content would be stored.
    static func caching(_ response: URLResponse, bytes: Int) -> Self {
        .caching(status: response.status, type: response.plainType, bytes: bytes)
    }

    static func redirect(_ response: HTTPURLResponse, to url: URL?) -> Self {
        .redirect(status: response.statusCode, url: text(of: url, after: response.url))
    }

    static func request(_ url: URL?) -> Self { .request(url: url?.absoluteString ?? "") }

    static func challenge(_ space: URLProtectionSpace, failures: Int) -> Self {
        if space.serverTrust != nil { return .serverTrust(host: space.host) }
        var scheme = space.authenticationMethod[...]
        for prefix in ["NSURLAuthenticationMethod", "HTTP"] where scheme.hasPrefix(prefix) {
            scheme = scheme.dropFirst(prefix.count)
        }
        return .challenge(scheme: String(scheme), realm: space.realm, failures: failures)
    }

    static func closed(code: Int, reason: Data?) -> Self {
        .closed(code: code, reason: String(decoding: reason ?? Data(), as: UTF8.self))
    }

    /// - Parameter bytes: How many bytes the handler receives; `nil` where it receives none itself.
    static func result(_ error: (any Error)?, bytes: Int?) -> Self {
        guard let error else { return .success(bytes: bytes) }
        let bridged = error as NSError
        let code = bridged.domain == NSURLErrorDomain ? URLError.Code(rawValue: bridged.code) : nil
        return .failure(
            code: code.map { "URLError.\($0.name)" } ?? "\(bridged.domain) \(bridged.code)",
            sentence: error.failureSentence)
    }

    /// The path alone where the URL is of the same origin.
    private static func text(of url: URL?, after earlier: URL?) -> String {
        let text = url?.absoluteString ?? ""
        guard let url, let earlier, url.scheme == earlier.scheme, url.host == earlier.host, url.port == earlier.port,
            let start = text.range(of: "//")?.upperBound, let path = text[start...].firstIndex(of: "/")
        else { return text }
        return String(text[path...])
    }

    // MARK: Texts

    /// How many bytes its texts have.
    var textSize: Int {
        var size = 0
        _ = mapTexts { text in
            size += text.utf8.count
            return text
        }
        return size
    }

    /// The arguments with their texts changed.
    func mapTexts(_ change: (String) -> String) -> Self {
        switch self {
        case .response(let status, let type, let expected):
            .response(status: status, type: type.map(change), expected: expected)
        case .caching(let status, let type, let bytes):
            .caching(status: status, type: type.map(change), bytes: bytes)
        case .redirect(let status, let url): .redirect(status: status, url: change(url))
        case .request(let url): .request(url: change(url))
        case .challenge(let scheme, let realm, let failures):
            .challenge(scheme: change(scheme), realm: realm.map(change), failures: failures)
        case .serverTrust(let host): .serverTrust(host: change(host))
        case .opened(let subprotocol): .opened(subprotocol: subprotocol.map(change))
        case .closed(let code, let reason): .closed(code: code, reason: change(reason))
        case .failure(let code, let sentence): .failure(code: change(code), sentence: change(sentence))
        case .bytes, .progress, .position, .offset, .metrics, .task, .resumeData, .success: self
        }
    }
}

extension URLResponse {
    fileprivate var status: Int? { (self as? HTTPURLResponse)?.statusCode }

    /// The type of a response without a status.
    fileprivate var plainType: String? { status == nil ? mimeType : nil }
}

extension URLError.Code {
    /// The code as programs write it; its number where it has no name.
    fileprivate var name: String { Self.names[self] ?? "\(rawValue)" }

    private static let names: [URLError.Code: String] = [
        .unknown: "unknown",
        .backgroundSessionRequiresSharedContainer: "backgroundSessionRequiresSharedContainer",
        .backgroundSessionInUseByAnotherProcess: "backgroundSessionInUseByAnotherProcess",
        .backgroundSessionWasDisconnected: "backgroundSessionWasDisconnected",
        .cancelled: "cancelled",
        .badURL: "badURL",
        .timedOut: "timedOut",
        .unsupportedURL: "unsupportedURL",
        .cannotFindHost: "cannotFindHost",
        .cannotConnectToHost: "cannotConnectToHost",
        .networkConnectionLost: "networkConnectionLost",
        .dnsLookupFailed: "dnsLookupFailed",
        .httpTooManyRedirects: "httpTooManyRedirects",
        .resourceUnavailable: "resourceUnavailable",
        .notConnectedToInternet: "notConnectedToInternet",
        .redirectToNonExistentLocation: "redirectToNonExistentLocation",
        .badServerResponse: "badServerResponse",
        .userCancelledAuthentication: "userCancelledAuthentication",
        .userAuthenticationRequired: "userAuthenticationRequired",
        .zeroByteResource: "zeroByteResource",
        .cannotDecodeRawData: "cannotDecodeRawData",
        .cannotDecodeContentData: "cannotDecodeContentData",
        .cannotParseResponse: "cannotParseResponse",
        .internationalRoamingOff: "internationalRoamingOff",
        .callIsActive: "callIsActive",
        .dataNotAllowed: "dataNotAllowed",
        .requestBodyStreamExhausted: "requestBodyStreamExhausted",
        .appTransportSecurityRequiresSecureConnection: "appTransportSecurityRequiresSecureConnection",
        .fileDoesNotExist: "fileDoesNotExist",
        .fileIsDirectory: "fileIsDirectory",
        .noPermissionsToReadFile: "noPermissionsToReadFile",
        .dataLengthExceedsMaximum: "dataLengthExceedsMaximum",
        .secureConnectionFailed: "secureConnectionFailed",
        .serverCertificateHasBadDate: "serverCertificateHasBadDate",
        .serverCertificateUntrusted: "serverCertificateUntrusted",
        .serverCertificateHasUnknownRoot: "serverCertificateHasUnknownRoot",
        .serverCertificateNotYetValid: "serverCertificateNotYetValid",
        .clientCertificateRejected: "clientCertificateRejected",
        .clientCertificateRequired: "clientCertificateRequired",
        .cannotLoadFromNetwork: "cannotLoadFromNetwork",
        .cannotCreateFile: "cannotCreateFile",
        .cannotOpenFile: "cannotOpenFile",
        .cannotCloseFile: "cannotCloseFile",
        .cannotWriteToFile: "cannotWriteToFile",
        .cannotRemoveFile: "cannotRemoveFile",
        .cannotMoveFile: "cannotMoveFile",
        .downloadDecodingFailedMidStream: "downloadDecodingFailedMidStream",
        .downloadDecodingFailedToComplete: "downloadDecodingFailedToComplete",
    ]
}
