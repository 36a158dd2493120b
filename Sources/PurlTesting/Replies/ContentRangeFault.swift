/// How the `Content-Range` of a 206 lies. The body is what was asked for all the same.
public enum ContentRangeFault: Sendable, Hashable {
    /// Start and end are this many bytes further on (or back, not below 0).
    case shifted(by: Int)
    /// The complete length is this; nil writes `*`, which is not a lie but tells less.
    case total(Int?)
    /// There is none.
    case missing
    /// The field's value is this text.
    case literal(String)
}
