#if SANITIZE_THREAD
    import Purl

    typealias Mutex = SessionMutex
#endif
