// swift-format-ignore-file: AlwaysUseLowerCamelCase

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

/// Whatever method the server asks for.
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

/// An option of ``URLCredentialStorage/remove(_:for:options:)`` that means something on Apple's systems only.
public let NSURLCredentialStorageRemoveSynchronizableCredentials =
    "NSURLCredentialStorageRemoveSynchronizableCredentials"
