/// What the connections of a server share.
struct Service: Sendable {
    let routes: RouteTable
    let recorder: Recorder
    /// So many bytes of a request's body are kept.
    let maximumRecordedBody: Int
}
