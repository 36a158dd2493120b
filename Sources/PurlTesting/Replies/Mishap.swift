/// What goes wrong, and when.
struct Mishap: Sendable {
    /// What happens at a moment of an answer.
    enum Action: Sendable, Equatable {
        /// Nothing more is sent until the gate opens, or ever.
        case stall(Gate?)
        /// Nothing more is sent for a while.
        case pause(Duration)
        /// The stream ends.
        case cut
        /// The connection is reset.
        case reset
    }

    let moment: Moment
    let action: Action
}
