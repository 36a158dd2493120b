/// Why a head or a trailer section was not encoded: it would break its message or the method forbids it.
package enum EncodeError: Error, Hashable, Sendable {
    case invalidMethod
    case invalidTarget
    case invalidStatus
    case invalidReason
    case invalidVersion
    case invalidFieldName(String)
    case invalidFieldValue(name: String)
    /// TRACE with content (RFC 9110 §9.3.8).
    case contentOfTrace
    /// CONNECT requests a tunnel, not a resource (RFC 9110 §9.3.6).
    case tunnel
}

extension EncodeError: CustomStringConvertible {
    /// One sentence for people. Names what is wrong, never shows the offending value.
    package var description: String {
        switch self {
        case .invalidMethod: "The request method is not a token."
        case .invalidTarget: "The request target is empty or contains a blank, a control or a non-ASCII character."
        case .invalidStatus: "The status code is not a number from 100 to 999."
        case .invalidReason: "The reason phrase contains a control character."
        case .invalidVersion: "The HTTP version is not 1.0 or 1.1."
        case .invalidFieldName(let name): "The field name \(name.debugDescription) is not a token."
        case .invalidFieldValue(let name): "The value of the field \(name) contains a control character."
        case .contentOfTrace: "A TRACE request has no body."
        case .tunnel: "CONNECT asks for a tunnel, not for what is at a URL."
        }
    }
}
