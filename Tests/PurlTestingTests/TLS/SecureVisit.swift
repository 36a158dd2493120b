import Foundation
import Purl
import PurlTLS
import PurlTesting

/// The authority of all tests here, as a test author would share one.
let authority = TestAuthority()

/// A session that trusts the authority.
func secureSession(
    identity: TestIdentity? = nil, _ change: (URLSessionConfiguration) throws -> Void = { _ in }
) throws -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.proxyVariables = [:]
    configuration.timeoutIntervalForRequest = 250
    if let identity {
        configuration.tlsProvider = SystemTLS(
            SystemTLS.Options(
                roots: .only([.data(try authority.rootDER)]),
                identity: .pem(
                    certificates: .data(Data(identity.certificatesPEM.utf8)),
                    key: .data(Data(try identity.privateKeyPEM.utf8)))))
    } else {
        configuration.tlsProvider = SystemTLS(trusting: try authority.rootDER)
    }
    try change(configuration)
    return URLSession(configuration: configuration)
}

/// What a load ends with.
func outcome(of url: URL, in session: URLSession) async -> Result<Data, URLError> {
    do {
        return .success(try await session.data(from: url).0)
    } catch let error as URLError {
        return .failure(error)
    } catch {
        return .failure(URLError(.unknown))
    }
}

extension Result where Failure == URLError {
    var code: URLError.Code? {
        switch self {
        case .success: nil
        case .failure(let error): error.code
        }
    }
}
