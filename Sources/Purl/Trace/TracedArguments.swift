import Foundation

/// What a delegate or a handler was called with, where it is numbers. They become a text when it is read.
enum TracedNumbers: Sendable {
    case none
    case bytes(Int)
    /// - Parameters:
    ///   - bytes: How many bytes the call reports.
    ///   - total: How many there are so far.
    ///   - expected: How many there will be; negative where that is unknown.
    case progress(bytes: Int64, total: Int64, expected: Int64)
    case position(Int64, expected: Int64)
    case offset(Int64)
    /// How many requests the metrics describe.
    case metrics(Int)
    /// The identifier of the task that takes the task's place.
    case task(Int)
    /// A result without an error.
    ///
    /// - Parameter bytes: How many bytes the handler receives; `nil` where it receives none itself.
    case success(bytes: Int?)

    var text: String {
        switch self {
        case .none: ""
        case .bytes(let count): Self.bytes(Int64(count))
        case .progress(let bytes, let total, let expected):
            "\(Self.bytes(bytes)), \(Self.number(total)) of \(Self.total(expected))"
        case .position(let offset, let expected): "at \(Self.number(offset)) of \(Self.total(expected))"
        case .offset(let offset): "from \(Self.number(offset))"
        case .metrics(let count): count == 1 ? "1 request" : "\(count) requests"
        case .task(let identifier): "task \(identifier)"
        case .success(let bytes): "no error" + (bytes.map { ", \(Self.bytes(Int64($0)))" } ?? "")
        }
    }

    /// `1,000`: the same in every locale.
    private static func number(_ number: Int64) -> String {
        let digits = String(number.magnitude)
        var text = number < 0 ? "-" : ""
        for (position, digit) in digits.enumerated() {
            if position > 0, (digits.count - position).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    static func bytes(_ count: Int64) -> String { count == 1 ? "1 byte" : "\(number(count)) bytes" }

    private static func total(_ count: Int64) -> String { count < 0 ? "an unknown number" : number(count) }
}

/// What a delegate or a handler was called with: numbers, and objects that exist anyway.
enum TracedArguments: Sendable {
    case numbers(TracedNumbers)
    case response(URLResponse)
    /// - Parameter bytes: How many bytes of content would be stored.
    case caching(URLResponse, bytes: Int)
    case redirect(HTTPURLResponse, to: URL?)
    case request(URL?)
    case challenge(URLProtectionSpace, failures: Int)
    case resumeData(isThere: Bool)
    case opened(subprotocol: String?)
    case closed(code: Int, reason: Data?)
    /// The code and the sentence of an error.
    case failure(String)

    static var none: TracedArguments { .numbers(.none) }

    /// - Parameter bytes: How many bytes the handler receives; `nil` where it receives none itself.
    static func result(_ error: (any Error)?, bytes: Int?) -> TracedArguments {
        error.map { .failure(text(of: $0)) } ?? .numbers(.success(bytes: bytes))
    }

    /// The arguments in a few words.
    var text: String {
        switch self {
        case .numbers(let numbers): numbers.text
        case .response(let response): Self.text(of: response)
        case .caching(let response, let bytes):
            "\(Self.status(of: response)), \(TracedNumbers.bytes(Int64(bytes)))"
        case .redirect(let response, let url):
            "\(response.statusCode), to \(Self.text(of: url, after: response.url))"
        case .request(let url): url?.absoluteString ?? ""
        case .challenge(let space, let failures): Self.text(of: space, failures)
        // Its length depends on the machine.
        case .resumeData(let isThere): isThere ? "data" : "nil"
        case .opened(let subprotocol): subprotocol ?? "no protocol"
        case .closed(let code, let reason): Self.text(ofClose: code, reason)
        case .failure(let text): text
        }
    }

    /// About how many bytes the objects take.
    var size: Int {
        switch self {
        case .numbers, .resumeData: 0
        case .response(let response), .caching(let response, _): Self.size(of: response)
        case .redirect(let response, let url): Self.size(of: response) + url.textSize
        case .request(let url): url.textSize
        case .challenge(let space, _): space.host.utf8.count + (space.realm?.utf8.count ?? 0)
        case .opened(let subprotocol): subprotocol?.utf8.count ?? 0
        case .closed(_, let reason): reason?.count ?? 0
        case .failure(let text): text.utf8.count
        }
    }

    private static func size(of response: URLResponse) -> Int {
        response.url.textSize + ((response as? HTTPURLResponse)?.fields.memorySize ?? 0)
    }

    // MARK: Messages

    private static func status(of response: URLResponse) -> String {
        guard let status = (response as? HTTPURLResponse)?.statusCode else { return response.mimeType ?? "no type" }
        return "\(status) \(HTTPURLResponse.localizedString(forStatusCode: status))"
    }

    private static func text(of response: URLResponse) -> String {
        let isInterim = (response as? HTTPURLResponse).map { $0.statusCode < 200 } ?? false
        if isInterim { return status(of: response) }
        let length = response.expectedContentLength
        return status(of: response) + (length < 0 ? ", length unknown" : ", \(TracedNumbers.bytes(length)) expected")
    }

    /// The path alone where the URL is of the same origin.
    private static func text(of url: URL?, after earlier: URL?) -> String {
        let text = url?.absoluteString ?? ""
        guard let url, let earlier, url.scheme == earlier.scheme, url.host == earlier.host, url.port == earlier.port,
            let start = text.range(of: "//")?.upperBound, let path = text[start...].firstIndex(of: "/")
        else { return text }
        return String(text[path...])
    }

    private static func text(of space: URLProtectionSpace, _ failures: Int) -> String {
        var scheme = space.authenticationMethod[...]
        for prefix in ["NSURLAuthenticationMethod", "HTTP"] where scheme.hasPrefix(prefix) {
            scheme = scheme.dropFirst(prefix.count)
        }
        if space.serverTrust != nil { return "\(scheme), \(space.host)" }
        let realm = space.realm.map { ", realm \"\($0)\"" } ?? ""
        return "\(scheme)\(realm), failed \(failures) time\(failures == 1 ? "" : "s")"
    }

    private static func text(ofClose code: Int, _ reason: Data?) -> String {
        guard let reason, !reason.isEmpty else { return "\(code)" }
        return "\(code), \"\(String(decoding: reason, as: UTF8.self))\""
    }

    // MARK: Errors

    /// The longest sentence that is shown with a code.
    private static let maximumSentence = 80

    private static func text(of error: any Error) -> String {
        let bridged = error as NSError
        let code = bridged.domain == NSURLErrorDomain ? URLError.Code(rawValue: bridged.code) : nil
        let name = code.map { "URLError.\($0.name)" } ?? "\(bridged.domain) \(bridged.code)"
        let sentence = error.failureSentence
        return sentence.count > maximumSentence ? name : "\(name): \(sentence)"
    }
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
