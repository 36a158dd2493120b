internal import PurlIO
import Synchronization

/// Which TLS provider the sessions of a configuration use.
enum TLSProviderChoice: Sendable {
    /// The program's default, as it is when a connection is made.
    case programDefault
    case provider(any TLSProvider)
    case none

    /// The choice of a program that has set a provider, or `nil`.
    init(_ provider: (any TLSProvider)?) {
        self = provider.map { .provider($0) } ?? .none
    }

    /// The provider as of now.
    var provider: (any TLSProvider)? {
        switch self {
        case .programDefault: DefaultTLSProvider.current.provider
        case .provider(let provider): provider
        case .none: nil
        }
    }
}

/// The TLS provider of all sessions for which the program has not chosen one.
struct DefaultTLSProvider: Sendable {
    let provider: (any TLSProvider)?
    /// How often the program has set it.
    let version: Int

    private static let ofProcess = ProcessLocal { Latest() }

    private final class Latest: Sendable {
        let value = Mutex(DefaultTLSProvider(provider: nil, version: 0))
    }

    static var current: DefaultTLSProvider { ofProcess.current.value.withLock { $0 } }

    /// The provider that has replaced the one of an earlier version; `nil` when none has.
    static func replacement(ofVersion version: Int) -> DefaultTLSProvider? {
        ofProcess.current.value.withLock { $0.version == version ? nil : $0 }
    }

    static func set(_ provider: (any TLSProvider)?) {
        // The earlier one is released outside the lock: its `deinit` is the program's.
        let earlier = ofProcess.current.value.withLock { latest in
            let earlier = latest
            latest = DefaultTLSProvider(provider: provider, version: latest.version + 1)
            return earlier
        }
        withExtendedLifetime(earlier) {}
    }
}
