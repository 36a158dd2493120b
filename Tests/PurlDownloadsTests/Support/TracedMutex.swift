#if SANITIZE_THREAD
    import PurlIO

    typealias Mutex = TracedMutex
#endif
