extension Reply {
    /// Ends the stream after `count` bytes of body, the first `times` times.
    public func cut(afterBytes count: Int, times: Int = .max) -> Reply {
        cut(at: .afterBodyBytes(count), times: times)
    }

    /// Ends the stream at this moment, the first `times` times.
    public func cut(at moment: Moment, times: Int = .max) -> Reply {
        mishap(moment, .cut, times)
    }

    /// Resets the connection after `count` bytes of body, the first `times` times.
    ///
    /// A reset overtakes what the client has not read: it may see fewer bytes, or none.
    public func reset(afterBytes count: Int, times: Int = .max) -> Reply {
        reset(at: .afterBodyBytes(count), times: times)
    }

    /// Resets the connection at this moment, the first `times` times.
    public func reset(at moment: Moment, times: Int = .max) -> Reply {
        mishap(moment, .reset, times)
    }

    /// Sends nothing after `count` bytes of body until `gate` opens (without one: for ever), the first `times` times.
    public func stalled(afterBytes count: Int, until gate: Gate? = nil, times: Int = .max) -> Reply {
        stalled(at: .afterBodyBytes(count), until: gate, times: times)
    }

    /// Sends nothing from this moment on until `gate` opens (without one: for ever), the first `times` times.
    public func stalled(at moment: Moment, until gate: Gate? = nil, times: Int = .max) -> Reply {
        mishap(moment, .stall(gate), times)
    }

    /// Holds the whole answer back until `gate` opens. Interim responses are sent before.
    public func delayed(until gate: Gate, times: Int = .max) -> Reply {
        stalled(at: .beforeHead, until: gate, times: times)
    }

    /// Holds the whole answer back for a while. Interim responses are sent before.
    public func delayed(by duration: Duration, times: Int = .max) -> Reply {
        mishap(.beforeHead, .pause(duration), times)
    }

    private func mishap(_ moment: Moment, _ action: Mishap.Action, _ times: Int) -> Reply {
        changed { $0.mishaps.append(Limited(value: Mishap(moment: moment, action: action), times: times)) }
    }
}
