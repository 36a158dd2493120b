#if os(Linux)
    import Foundation

    extension RawClient {
        static let streamType = Int32(SOCK_STREAM.rawValue)
        static let sendFlags = Int32(MSG_NOSIGNAL)

        static func prepare(_ descriptor: Int32) {}
    }
#endif
