#if SANITIZE_THREAD
    import Purl

    typealias Mutex = SanitizedMutex
#endif
