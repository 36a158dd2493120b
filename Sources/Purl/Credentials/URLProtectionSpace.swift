// swift-format-ignore-file: AlwaysUseLowerCamelCase

import Foundation

/// A server or a proxy, or a part of it with credentials of its own: a realm.
///
/// `@unchecked Sendable` because the class is open; it is immutable.
open class URLProtectionSpace: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    private let values: Values

    /// The host as it was written. Spaces whose hosts differ in the case of letters alone are equal.
    private let writtenHost: String

    /// The server's certificates, where the question is whether they are trusted. They are not archived.
    private let trust: TLSTrust?

    private struct Values: Hashable {
        let host: String
        let port: Int
        let scheme: String?
        let proxyType: String?
        let isProxy: Bool
        let realm: String?
        let method: String
    }

    /// Makes a protection space of a server.
    ///
    /// - Parameters:
    ///   - host: The host's name or address, whose letter case does not matter, or the path of a socket of this machine,
    ///     whose letter case does.
    ///   - port: Its port.
    ///   - protocol: The scheme, ``NSURLProtectionSpaceHTTP`` for instance.
    ///   - realm: The name the server gave the space.
    ///   - authenticationMethod: How a client authenticates; `nil` means ``NSURLAuthenticationMethodDefault``.
    public init(host: String, port: Int, protocol: String?, realm: String?, authenticationMethod: String?) {
        writtenHost = host
        trust = nil
        values = Values(
            // A server's path, at a socket of this machine, is not a name.
            host: host.hasPrefix("/") ? host : host.lowercased(), port: port, scheme: `protocol`, proxyType: nil,
            isProxy: false, realm: realm,
            method: authenticationMethod ?? NSURLAuthenticationMethodDefault)
    }

    /// Makes a protection space of a proxy.
    ///
    /// - Parameters:
    ///   - host: The proxy's name or address; the case of letters does not matter.
    ///   - port: Its port.
    ///   - type: Its protocol, ``NSURLProtectionSpaceHTTPProxy`` for instance.
    ///   - realm: The name the proxy gave the space.
    ///   - authenticationMethod: How a client authenticates; `nil` means ``NSURLAuthenticationMethodDefault``.
    public init(proxyHost host: String, port: Int, type: String?, realm: String?, authenticationMethod: String?) {
        writtenHost = host
        trust = nil
        values = Values(
            host: host.lowercased(), port: port, scheme: nil, proxyType: type, isProxy: true, realm: realm,
            method: authenticationMethod ?? NSURLAuthenticationMethodDefault)
    }

    /// The space of a server that has to be trusted.
    init(host: String, port: Int, protocol: String?, _ trust: TLSTrust) {
        writtenHost = host
        self.trust = trust
        values = Values(
            host: host.lowercased(), port: port, scheme: `protocol`, proxyType: nil, isProxy: false, realm: nil,
            method: NSURLAuthenticationMethodServerTrust)
    }

    public required init?(coder aDecoder: NSCoder) {
        guard let host = aDecoder.decodeObject(of: NSString.self, forKey: "host"),
            let method = aDecoder.decodeObject(of: NSString.self, forKey: "authenticationMethod")
        else { return nil }
        func text(_ key: String) -> String? { aDecoder.decodeObject(of: NSString.self, forKey: key).map { "\($0)" } }
        writtenHost = "\(host)"
        trust = nil
        values = Values(
            host: writtenHost.lowercased(), port: aDecoder.decodeInteger(forKey: "port"), scheme: text("protocol"),
            proxyType: text("proxyType"), isProxy: aDecoder.decodeBool(forKey: "isProxy"), realm: text("realm"),
            method: "\(method)")
    }

    open func encode(with aCoder: NSCoder) {
        aCoder.encode(NSString(string: writtenHost), forKey: "host")
        aCoder.encode(values.port, forKey: "port")
        aCoder.encode(values.scheme.map { NSString(string: $0) }, forKey: "protocol")
        aCoder.encode(values.proxyType.map { NSString(string: $0) }, forKey: "proxyType")
        aCoder.encode(values.isProxy, forKey: "isProxy")
        aCoder.encode(values.realm.map { NSString(string: $0) }, forKey: "realm")
        aCoder.encode(NSString(string: values.method), forKey: "authenticationMethod")
    }

    /// Protection spaces may be archived.
    public static var supportsSecureCoding: Bool { true }

    open override func copy() -> Any { copy(with: nil) }

    /// Returns the space itself: it never changes.
    ///
    /// - Parameter zone: Ignored.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// The name of the space within its server.
    open var realm: String? { values.realm }

    /// Whether a password sent there cannot be read on the way: over TLS, or as the digest of a password.
    open var receivesCredentialSecurely: Bool {
        values.scheme == NSURLProtectionSpaceHTTPS || values.method == NSURLAuthenticationMethodHTTPDigest
    }

    /// The host.
    open var host: String { writtenHost }

    /// The port.
    open var port: Int { values.port }

    /// The protocol of a proxy; `nil` for a server.
    open var proxyType: String? { values.proxyType }

    /// The scheme of a server; `nil` for a proxy.
    open var `protocol`: String? { values.scheme }

    /// How a client authenticates.
    open var authenticationMethod: String { values.method }

    /// The certificates of a server that has to be trusted, and what the TLS provider makes of them; `nil` for every other
    /// authentication method than ``NSURLAuthenticationMethodServerTrust``. On Apple's systems it is a `SecTrust`.
    open var serverTrust: TLSTrust? { trust }

    /// Whether this is the space of a proxy.
    open override func isProxy() -> Bool { values.isProxy }

    /// Equal spaces agree in everything but the case of the host's letters and the server's certificates.
    ///
    /// - Parameter object: Another object.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? URLProtectionSpace)?.values == values
    }

    open override var hash: Int { values.hashValue }

    open override var description: String {
        let values = [
            "Host:\(host)", "Server:\(self.protocol ?? "(null)")", "Auth-Scheme:\(shownMethod)",
            "Realm:\(realm ?? "(null)")", "Port:\(port)", "Proxy:\(isProxy() ? "YES" : "NO")",
            "Proxy-Type:\(proxyType ?? "(null)")",
        ]
        return "<\(type(of: self)) \(Unmanaged.passUnretained(self).toOpaque())>: \(values.joined(separator: ", "))"
    }

    /// The method as Foundation describes it: one that it does not know as the default.
    private var shownMethod: String {
        Self.knownMethods.contains(authenticationMethod) ? authenticationMethod : NSURLAuthenticationMethodDefault
    }

    private static let knownMethods: Set<String> = [
        NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest,
        NSURLAuthenticationMethodHTMLForm, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
        NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust,
    ]
}

extension URLProtectionSpace {
    /// Which certificate authorities a server accepts: always `nil`.
    @available(
        *, deprecated, message: "The TLS provider has the client's certificate; a delegate is not asked for one."
    )
    public var distinguishedNames: [Data]? { nil }

    /// The same space with the default authentication method, under which a program may have stored a credential.
    var withDefaultMethod: URLProtectionSpace {
        isProxy()
            ? URLProtectionSpace(proxyHost: host, port: port, type: proxyType, realm: realm, authenticationMethod: nil)
            : URLProtectionSpace(
                host: host, port: port, protocol: self.protocol, realm: realm, authenticationMethod: nil)
    }
}

/// The protocol of a server that speaks HTTP.
public let NSURLProtectionSpaceHTTP = "http"
/// The protocol of a server that speaks HTTP over TLS.
public let NSURLProtectionSpaceHTTPS = "https"
/// The protocol of a server that speaks FTP.
@available(swift, deprecated: 6.1, message: "FTP is deprecated")
public let NSURLProtectionSpaceFTP = "ftp"
/// The type of a proxy for HTTP.
public let NSURLProtectionSpaceHTTPProxy = "http"
/// The type of a proxy for HTTP over TLS.
public let NSURLProtectionSpaceHTTPSProxy = "https"
/// The type of a proxy for FTP.
@available(swift, deprecated: 6.1, message: "FTP is deprecated")
public let NSURLProtectionSpaceFTPProxy = "ftp"
/// The type of a SOCKS proxy.
public let NSURLProtectionSpaceSOCKSProxy = "SOCKS"

/// The method that the server asks for.
public let NSURLAuthenticationMethodDefault = "NSURLAuthenticationMethodDefault"
/// The password as it is (RFC 7617).
public let NSURLAuthenticationMethodHTTPBasic = "NSURLAuthenticationMethodHTTPBasic"
/// A digest of the password (RFC 7616).
public let NSURLAuthenticationMethodHTTPDigest = "NSURLAuthenticationMethodHTTPDigest"
/// A form on a page; no session authenticates with one.
public let NSURLAuthenticationMethodHTMLForm = "NSURLAuthenticationMethodHTMLForm"
/// NTLM, which Purl does not speak.
public let NSURLAuthenticationMethodNTLM = "NSURLAuthenticationMethodNTLM"
/// Kerberos or NTLM, which Purl does not speak.
public let NSURLAuthenticationMethodNegotiate = "NSURLAuthenticationMethodNegotiate"
/// A certificate of the client's. It is the TLS provider's to have: no delegate is asked for one.
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
/// The question whether a server's certificate is trusted, which is asked for each secure connection; see
/// ``URLProtectionSpace/serverTrust``.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

/// An option of ``URLCredentialStorage/remove(_:for:options:)`` that means something on Apple's systems only.
public let NSURLCredentialStorageRemoveSynchronizableCredentials =
    "NSURLCredentialStorageRemoveSynchronizableCredentials"
