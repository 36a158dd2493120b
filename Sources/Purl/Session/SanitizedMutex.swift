#if SANITIZE_THREAD
    package import PurlIO

    typealias Mutex = SanitizedMutex

    /// For the targets that import `Purl` but not `PurlIO`.
    package typealias SessionMutex = SanitizedMutex
#endif
