extension FuzzTarget {
    /// A whole client and a server that does as the input says: the first bytes choose the tasks, the rest is a
    /// ``ServerScript``. Each task ends exactly once; a success brings what was sent as the answer to its request,
    /// no byte more and none less, whatever came before it on the connection.
    static let client = FuzzTarget("client") { bytes in
        var choices = Choices(bytes)
        let plan = ClientRun.Plan(&choices)
        ClientRun(plan, ServerScript(choices.remainder())).run()
    }
}
