/// What a body decoder found.
package enum BodyEvent: Equatable, Sendable {
    /// Bytes of the body: offsets in the input of that call.
    case bytes(Range<Int>)
    /// The body is complete. Only the chunked coding has trailers.
    case end(trailers: HeaderFields)
}
