/// What goes wrong with an answer when it comes to a ``Phase``.
///
/// ```swift
/// for phase in Phase.allCases {
///     server.route("/file", .generated(size: 100_000).chunked(size: 1000).mishap(.reset, at: phase))
///     // … whatever the code under test promises holds here, too …
/// }
/// ```
public enum Mishap: Sendable, Equatable {
    /// Nothing more is sent until the gate opens; without one, ever.
    case stall(until: Gate?)
    /// Nothing more is sent for a while.
    case pause(Duration)
    /// The server ends the stream, and goes on reading until the client ends its own.
    case cut
    /// The connection is reset.
    case reset
}

/// A mishap, and where it happens.
struct PlannedMishap: Sendable {
    let phase: Phase
    let mishap: Mishap
}
