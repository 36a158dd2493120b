#if SANITIZE_THREAD
    package import PurlIO

    typealias Mutex = TracedMutex

    /// For the targets that import `Purl` but not `PurlIO`.
    package typealias SanitizedMutex = TracedMutex
#endif
