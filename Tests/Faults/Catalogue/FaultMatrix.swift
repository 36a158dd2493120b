/// All faults, and all cells.
package enum FaultMatrix {
    /// Faults of one sort.
    package typealias Section = (name: String, faults: [Fault])

    /// The faults by where they are.
    package static let sections: [Section] = [
        ("Answers that end or stop", Fault.phases + Fault.lost),
        ("Handshakes and records of TLS", Fault.handshakes + Fault.records),
        ("Answers that are malformed", Fault.malformed),
        ("Bytes that belong to nothing", Fault.surplus),
        ("Content codings", Fault.codings),
        ("Hostile fields and challenges", Fault.fields + Fault.challenges),
        ("Redirects", Fault.redirects),
        ("Names, addresses, proxies", Fault.names + Fault.proxies),
        ("Disks, sinks, uploads", Fault.disks + Fault.sinks + Fault.uploads),
        ("Streams", Fault.streams),
        ("Users, at every phase", Fault.meddling + Fault.streamMeddling),
        ("Users, inside every call", Fault.callbacks),
        ("Delegate queues", Fault.queues),
        ("Descriptors", Fault.descriptors),
    ]

    /// All faults.
    package static var faults: [Fault] { sections.flatMap(\.faults) }

    /// Each fault with each kind of task that can meet it over a medium. Only the streams of a socket can be captured.
    package static func cells(of faults: [Fault], over medium: Medium) -> [Cell] {
        faults.filter { $0.fits(medium) }.flatMap { fault in
            TaskKind.allCases.filter { fault.fits($0) && ($0 != .captured || medium == .tcp) }
                .map { Cell(fault: fault, kind: $0, medium: medium) }
        }
    }
}
