#if SANITIZE_THREAD
    @testable import PurlIO

    typealias Mutex = TracedMutex
#endif
