import Foundation

extension URLError.Code {
    /// Foundation's sentence for the code: the `localizedDescription` that programs and their tests compare. Foundation
    /// for Linux has no such table of its own.
    var sentence: String {
        Self.sentences[self] ?? "The operation couldn’t be completed. (\(NSURLErrorDomain) error \(rawValue).)"
    }

    /// In the order of the codes' numbers. The codes without an entry have no sentence on Apple's systems either.
    private static let sentences: [URLError.Code: String] = [
        .unknown: "unknown error",
        .backgroundSessionInUseByAnotherProcess: "Could not communicate with background transfer service",
        .backgroundSessionWasDisconnected: "Lost connection to background transfer service",
        .cancelled: "cancelled",
        .badURL: "bad URL",
        .timedOut: "The request timed out.",
        .unsupportedURL: "unsupported URL",
        .cannotFindHost: "A server with the specified hostname could not be found.",
        .cannotConnectToHost: "Could not connect to the server.",
        .networkConnectionLost: "The network connection was lost.",
        .dnsLookupFailed: "DNS lookup error",
        .httpTooManyRedirects: "too many HTTP redirects",
        .resourceUnavailable: "resource unavailable",
        .notConnectedToInternet: "The Internet connection appears to be offline.",
        .redirectToNonExistentLocation: "redirected to nowhere",
        .badServerResponse: "There was a bad response from the server.",
        .zeroByteResource: "zero byte resource",
        .cannotDecodeRawData: "cannot decode raw data",
        .cannotDecodeContentData: "cannot decode content data",
        .cannotParseResponse: "cannot parse response",
        .internationalRoamingOff: "International roaming is currently off.",
        .callIsActive: "A data connection cannot be established since a call is currently active.",
        .dataNotAllowed: "A data connection is not currently allowed.",
        .requestBodyStreamExhausted: "request body stream exhausted",
        .appTransportSecurityRequiresSecureConnection:
            "The resource could not be loaded because the App Transport Security policy requires the use of a secure "
            + "connection.",
        .fileDoesNotExist: "The requested URL was not found on this server.",
        .fileIsDirectory: "file is directory",
        .noPermissionsToReadFile: "You do not have permission to access the requested resource.",
        .dataLengthExceedsMaximum: "resource exceeds maximum size",
        .secureConnectionFailed:
            "An SSL error has occurred and a secure connection to the server cannot be made.",
        .serverCertificateHasBadDate: "The certificate for this server has expired.",
        .serverCertificateUntrusted: "The certificate for this server is invalid.",
        .serverCertificateHasUnknownRoot:
            "The certificate for this server was signed by an unknown certifying authority.",
        .serverCertificateNotYetValid: "The certificate for this server is not yet valid.",
        .clientCertificateRejected: "The server did not accept the certificate.",
        .clientCertificateRequired: "The server requires a client certificate.",
        .cannotLoadFromNetwork: "can’t load from network",
        .cannotCreateFile: "Cannot create file",
        .cannotOpenFile: "Cannot open file",
        .cannotCloseFile: "Failure occurred while closing file",
        .cannotWriteToFile: "Cannot write file",
        .cannotRemoveFile: "Cannot remove file",
        .cannotMoveFile: "Cannot move file",
        .downloadDecodingFailedMidStream: "Download decoding failed",
        .downloadDecodingFailedToComplete: "Download decoding failed",
    ]
}

extension Error {
    /// What happened, as a sentence: the reason that a `URLError` gives, else the error's description.
    package var failureSentence: String {
        let error = self as NSError
        guard error.domain == NSURLErrorDomain, let reason = error.localizedFailureReason else {
            return error.localizedDescription
        }
        return reason
    }
}
