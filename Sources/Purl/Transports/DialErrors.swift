import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// The type of ``URLSessionConfiguration/prepareSocket``.
typealias SocketPreparation = @Sendable (_ descriptor: Int32, _ address: TransportAddress) async throws -> Void

extension SocketOptions {
    /// - Parameter preparation: What a program wants to see of each socket.
    init(isMultipath: Bool = false, preparation: SocketPreparation?) {
        self.init(isMultipath: isMultipath, prepare: preparation.map { Self.reporting($0) })
    }

    /// The preparation with its errors as those of a system call.
    private static func reporting(_ preparation: @escaping SocketPreparation) -> Preparation {
        { descriptor, address async throws(SystemError) in
            do {
                try await preparation(descriptor, TransportAddress(address))
            } catch {
                let code = (error as? POSIXError)?.code.rawValue ?? ECONNABORTED
                throw SystemError(code: code, operation: "prepareSocket", cause: ThrownError(error))
            }
        }
    }
}

extension ThrownError {
    /// The error as users see it.
    var shown: any Error {
        guard let refusal = error as? ProxyDialFailure else { return error }
        return URLError(
            .cannotConnectToHost, reason: refusal.description, userInfo: [NSUnderlyingErrorKey: refusal.failure])
    }
}

extension DialError {
    /// What a connector or a resolver of the program's has thrown.
    var thrown: (any Error)? {
        switch self {
        case .resolve(.thrown(_, let thrown)), .connector(let thrown): thrown.shown
        case .resolve(.noSuchName), .resolve(.failed), .resolve(.notAnAddress), .connect, .unusable: nil
        }
    }

    /// Whether the reason may pass: there is no network, no route to the host, no response from the resolver, or no listener.
    /// What this process lacks (descriptors, permission) is another matter.
    var isTransient: Bool {
        switch self {
        case .resolve(.thrown(_, let thrown)): thrown.error is URLError ? thrown.error.isTransient : true
        case .resolve(.noSuchName), .resolve(.failed): true
        case .connect(let failures): failures.allSatisfy { Self.passingCodes.contains($0.error.code) }
        case .connector(let thrown): thrown.error.isTransient
        case .resolve(.notAnAddress), .unusable: false
        }
    }

    /// The process, or the system, has as many descriptors open as it may.
    var isShortage: Bool {
        switch self {
        case .resolve, .unusable: false
        case .connect(let failures): failures.contains { Self.shortageCodes.contains($0.error.code) }
        case .connector(let thrown): thrown.error.systemCode.map { Self.shortageCodes.contains($0) } ?? false
        }
    }

    fileprivate static let passingCodes: Set<Int32> = [
        ENETUNREACH, ENETDOWN, EHOSTUNREACH, EHOSTDOWN, ECONNREFUSED, ECONNRESET, ETIMEDOUT, EADDRNOTAVAIL, ENOENT,
    ]
    private static let shortageCodes: Set<Int32> = [EMFILE, ENFILE]
}

extension Error {
    /// Whether the reason of an error that a connector has thrown may pass. That of a `URLError` decides by its code, unless a
    /// system call's error is underneath, which decides then; that of an unknown error is taken for one that stays.
    fileprivate var isTransient: Bool {
        if let code = systemCode { return DialError.passingCodes.contains(code) }
        if let refusal = self as? ProxyDialFailure { return refusal.failure.mayPass }
        guard let error = self as? URLError else { return false }
        // That of a proxy's connector.
        if let failure = error.userInfo[NSUnderlyingErrorKey] as? any ProxyFailure { return failure.mayPass }
        switch error.code {
        case .notConnectedToInternet, .networkConnectionLost, .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost,
            .timedOut, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
            return true
        default:
            return false
        }
    }

    /// The `errno` of a POSIX error, or of the one beneath a `URLError`.
    fileprivate var systemCode: Int32? {
        if let error = self as? POSIXError { return error.code.rawValue }
        if let error = self as? URLError { return (error.userInfo[NSUnderlyingErrorKey] as? any Error)?.systemCode }
        let error = self as NSError
        return error.domain == NSPOSIXErrorDomain ? Int32(exactly: error.code) : nil
    }
}
