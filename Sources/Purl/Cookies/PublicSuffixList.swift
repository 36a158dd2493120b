import Foundation
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// The list of public suffixes in a file, which is read once, when it is first needed. A file that is missing is an
/// empty list.
final class PublicSuffixList: Sendable {
    private enum State {
        case unread
        case read(PublicSuffixes)
    }

    /// The system's list, which it has with the package `publicsuffix` or one like it.
    static let system = PublicSuffixList {
        FileManager.default.contents(atPath: "/usr/share/publicsuffix/public_suffix_list.dat")
    }

    private let read: @Sendable () -> Data?
    private let state = Mutex(State.unread)
    /// The same, for those who do not wait while the list is read.
    private let hasBeenRead = Atomic(false)

    /// - Parameter read: Returns the list in the format of publicsuffix.org; may block.
    init(_ read: @escaping @Sendable () -> Data?) {
        self.read = read
    }

    /// Whether the list can be used without waiting for a file.
    var isRead: Bool { hasBeenRead.load(ordering: .acquiring) }

    /// The suffixes. Blocks while the list is read.
    var suffixes: PublicSuffixes {
        state.withLock { state in
            switch state {
            case .read(let suffixes):
                return suffixes
            case .unread:
                let suffixes = PublicSuffixes(read() ?? Data())
                state = .read(suffixes)
                hasBeenRead.store(true, ordering: .releasing)
                return suffixes
            }
        }
    }
}
