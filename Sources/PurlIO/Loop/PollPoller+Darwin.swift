#if canImport(Darwin)
    extension Platform {
        /// The poller this system does best with.
        static func makePoller() -> any Poller {
            PollPoller()
        }
    }
#endif
