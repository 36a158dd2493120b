#if SANITIZE_THREAD
    internal import PurlIO

    typealias Mutex = SanitizedMutex
#endif
