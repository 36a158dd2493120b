extension FuzzTarget {
    /// WebSocket tasks, stream tasks, and data tasks that ask to leave HTTP, with a server that does as the input says:
    /// the first bytes are a ``ConversationPlan``, the rest is a ``ServerScript``. Each task ends exactly once, and so does
    /// each call; what is received is what was sent, in order, and what goes out is sound and what was asked for.
    static let conversations = FuzzTarget("conversations") { bytes in
        var choices = Choices(bytes)
        let plan = ConversationPlan(&choices)
        ConversationRun(plan, ServerScript(choices.remainder())).run()
    }
}
