extension Reply {
    /// Lets this go wrong when an answer comes to this phase, the first `times` times. Mishaps add up.
    public func mishap(_ mishap: Mishap, at phase: Phase, times: Int = .max) -> Reply {
        changed { $0.mishaps.append(Limited(value: PlannedMishap(phase: phase, mishap: mishap), times: times)) }
    }

    /// Ends the stream after `count` bytes of body, the first `times` times.
    public func cut(afterBytes count: Int, times: Int = .max) -> Reply {
        mishap(.cut, at: .afterBodyBytes(count), times: times)
    }

    /// Ends the stream at this phase, the first `times` times.
    public func cut(at phase: Phase, times: Int = .max) -> Reply {
        mishap(.cut, at: phase, times: times)
    }

    /// Resets the connection after `count` bytes of body, the first `times` times.
    ///
    /// A reset overtakes what the client has not read: it may see fewer bytes, or none.
    public func reset(afterBytes count: Int, times: Int = .max) -> Reply {
        mishap(.reset, at: .afterBodyBytes(count), times: times)
    }

    /// Resets the connection at this phase, the first `times` times.
    public func reset(at phase: Phase, times: Int = .max) -> Reply {
        mishap(.reset, at: phase, times: times)
    }

    /// Sends nothing after `count` bytes of body until `gate` opens (without one: for ever), the first `times` times.
    public func stalled(afterBytes count: Int, until gate: Gate? = nil, times: Int = .max) -> Reply {
        stalled(at: .afterBodyBytes(count), until: gate, times: times)
    }

    /// Sends nothing from this phase on until `gate` opens (without one: for ever), the first `times` times.
    public func stalled(at phase: Phase, until gate: Gate? = nil, times: Int = .max) -> Reply {
        mishap(.stall(until: gate), at: phase, times: times)
    }

    /// Holds the whole answer back until `gate` opens. Interim responses are sent before.
    public func delayed(until gate: Gate, times: Int = .max) -> Reply {
        stalled(at: .beforeHead, until: gate, times: times)
    }

    /// Holds the whole answer back for a while. Interim responses are sent before.
    public func delayed(by duration: Duration, times: Int = .max) -> Reply {
        mishap(.pause(duration), at: .beforeHead, times: times)
    }
}
