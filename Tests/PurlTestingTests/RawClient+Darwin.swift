#if canImport(Darwin)
    import Foundation

    extension RawClient {
        static let streamType = SOCK_STREAM
        static let sendFlags: Int32 = 0

        static func prepare(_ descriptor: Int32) {
            var yes: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, 4)
        }
    }
#endif
