#if SANITIZE_THREAD
    import PurlIO

    typealias Mutex = SanitizedMutex
#endif
