#if SANITIZE_THREAD
    @testable import PurlIO

    typealias Mutex = SanitizedMutex
#endif
