/// The versions of TLS, by their numbers on the wire. There is no TLS here; the type is that of
/// ``URLSessionTaskTransactionMetrics/negotiatedTLSProtocolVersion``, which is `nil`.
// swift-format-ignore: TypeNamesShouldBeCapitalized, AlwaysUseLowerCamelCase
public enum tls_protocol_version_t: UInt16, Sendable {
    case TLSv10 = 0x0301
    case TLSv11 = 0x0302
    case TLSv12 = 0x0303
    case TLSv13 = 0x0304
    case DTLSv10 = 0xFEFF
    case DTLSv12 = 0xFEFD
}
