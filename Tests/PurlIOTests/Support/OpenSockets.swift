@testable import PurlIO

/// The sockets that this process has open. Other descriptors come and go with the runtime's own threads.
enum OpenSockets {
    static var count: Int {
        (Int32(0)..<1_024).count { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
        }
    }
}
