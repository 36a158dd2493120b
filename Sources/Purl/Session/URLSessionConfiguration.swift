import Foundation
internal import PurlConnections
internal import PurlHTTP
package import PurlIO
import Synchronization

/// The settings of a session: time-outs, connections, header fields, storages and folders.
///
/// A session copies its configuration when it is made, so later changes do not reach it.
/// `@unchecked Sendable` because the class is open; its only state is `values`, behind a `Mutex`.
open class URLSessionConfiguration: NSObject, NSCopying, @unchecked Sendable {
    /// All settings, as one value.
    struct Values: Sendable {
        var identifier: String?
        var requestCachePolicy: URLRequest.CachePolicy = .useProtocolCachePolicy
        var timeoutIntervalForRequest: TimeInterval = 60
        var timeoutIntervalForResource: TimeInterval = 604_800
        var networkServiceType: URLRequest.NetworkServiceType = .default
        var allowsCellularAccess = true
        /// What requests that are made from URLs carry.
        var requestHints = RequestHints()
        var multipathServiceType = MultipathServiceType.none
        var usesClassicLoadingMode = true
        var enablesEarlyData = false
        var tlsMinimumSupportedProtocolVersion = tls_protocol_version_t.TLSv12
        var tlsMaximumSupportedProtocolVersion = tls_protocol_version_t.TLSv13
        var tlsProviderChoice = TLSProviderChoice.programDefault
        var additionalFields = AdditionalFields([:])
        var httpCookieStorage: HTTPCookieStorage? = .shared
        var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy = .onlyFromMainDocumentDomain
        var httpShouldSetCookies = true
        var urlCredentialStorage: URLCredentialStorage? = .shared
        var urlCache: URLCache? = .shared
        var protocolClasses: [URLProtocol.Type] = []
        var proxyDictionary: ProxyDictionary?
        /// The environment variables that name proxies; tests set them.
        var proxyVariables: [String: String]?
        var httpMaximumConnectionsPerHost = 6
        var waitsForConnectivity = false
        var httpShouldUsePipelining = false
        var shouldUseExtendedBackgroundIdleMode = false
        var partialDownloadsDirectory: URL?
        var sessionSendsLaunchEvents = true
        var isDiscretionary = false
        var sharedContainerIdentifier: String?
        var continuesDownloadsAfterRelaunch = false
        var resumableUploads = ResumableUploads.automatic
        var resumableUploadVersion = ResumableUploadVersion.eight
        var backgroundSessionsDirectory: URL?
        var limits = Limits()
        var codedContent = CodedContent.decoded
        /// The clocks of rates and of time-outs; tests turn them by hand.
        var rateClock: (any RateClock)?
        var clock = SessionClock.system
        var trace: TransferTrace?
        /// The clock by which a background session waits to be asked for its tasks; tests let it stand.
        var graceClock = SessionClock.system
        /// The file system of partial files and journals; tests replace it.
        var files: any FileLayer = SystemFiles()
        var connector: (any Connector)?
        var resolver: (any HostResolver)?
        var prepareSocket: SocketPreparation?
        /// Looks up hosts; tests replace it.
        var nameResolver: any Resolver = SystemResolver.shared
        /// Where connections come from, in place of the network; for fuzzing.
        var dialler: (any Dialler)?

        var isBackground: Bool { identifier != nil }
    }

    private let values: Mutex<Values>

    /// The current values.
    var snapshot: Values { values.withLock { $0 } }

    @available(*, deprecated, renamed: "URLSessionConfiguration.default", message: "Use .default instead.")
    public override init() {
        values = Mutex(Values())
    }

    init(_ values: Values) {
        self.values = Mutex(values)
    }

    /// A new configuration with the default values.
    open class var `default`: URLSessionConfiguration { URLSessionConfiguration(Values()) }

    /// A new configuration for sessions that keep nothing on disk but downloads: their cookies, credentials and cached
    /// responses are in memory, and not shared.
    open class var ephemeral: URLSessionConfiguration {
        var values = Values()
        values.httpCookieStorage = HTTPCookieStorage()
        values.urlCredentialStorage = URLCredentialStorage()
        values.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0)
        return URLSessionConfiguration(values)
    }

    /// A new configuration for a session whose download tasks, and uploads from files, outlive
    /// the process.
    ///
    /// They are kept on disk, in a folder of the session's own. When the process ends, however it ends, and another
    /// makes a session with the same identifier, that session has them; see <doc:BackgroundSessions>. One session at a
    /// time can have an identifier.
    ///
    /// - Parameter identifier: The identifier of the session.
    open class func background(withIdentifier identifier: String) -> URLSessionConfiguration {
        var values = Values()
        values.identifier = identifier
        values.urlCache = nil
        return URLSessionConfiguration(values)
    }

    open override func copy() -> Any { copy(with: nil) }

    open func copy(with zone: NSZone?) -> Any { URLSessionConfiguration(snapshot) }

    /// The identifier of a background session; `nil` otherwise.
    open var identifier: String? { snapshot.identifier }

    /// The cache policy of requests that the session makes from URLs, and of those whose own is
    /// `.useProtocolCachePolicy`.
    open var requestCachePolicy: URLRequest.CachePolicy {
        get { snapshot.requestCachePolicy }
        set { values.withLock { $0.requestCachePolicy = newValue } }
    }

    /// How long, in seconds, a transfer may make no progress before it fails with `URLError.timedOut`. 60 by default.
    ///
    /// The time during which a task is suspended, waits for a free connection or for its delegate's answer does not
    /// count. A request whose own `timeoutInterval` is not 60 uses that instead. Zero means no limit.
    ///
    /// Uploads and downloads of a background session do not fail then: their request is sent again; see
    /// <doc:BackgroundSessions>.
    open var timeoutIntervalForRequest: TimeInterval {
        get { snapshot.timeoutIntervalForRequest }
        set { values.withLock { $0.timeoutIntervalForRequest = newValue } }
    }

    /// How long, in seconds, a transfer may take in all, redirects included. Seven days by default; zero
    /// means no limit.
    open var timeoutIntervalForResource: TimeInterval {
        get { snapshot.timeoutIntervalForResource }
        set { values.withLock { $0.timeoutIntervalForResource = newValue } }
    }

    /// The kind of traffic of requests made from URLs. A hint only.
    open var networkServiceType: URLRequest.NetworkServiceType {
        get { snapshot.networkServiceType }
        set { values.withLock { $0.networkServiceType = newValue } }
    }

    /// Whether a cellular interface may be used. Kept without effect; a socket on Linux does not know its interface.
    open var allowsCellularAccess: Bool {
        get { snapshot.allowsCellularAccess }
        set { values.withLock { $0.allowsCellularAccess = newValue } }
    }

    /// Whether an interface that the system considers expensive may be used. `true` by default. Kept without effect: a
    /// socket on Linux does not know its interface.
    open var allowsExpensiveNetworkAccess: Bool {
        get { snapshot.requestHints.allowsExpensiveNetworkAccess }
        set { values.withLock { $0.requestHints.allowsExpensiveNetworkAccess = newValue } }
    }

    /// Whether an interface in Low Data Mode may be used. `true` by default. Kept without effect: Linux has no such
    /// mode.
    open var allowsConstrainedNetworkAccess: Bool {
        get { snapshot.requestHints.allowsConstrainedNetworkAccess }
        set { values.withLock { $0.requestHints.allowsConstrainedNetworkAccess = newValue } }
    }

    /// Whether an interface that is marked as ultra-constrained, such as a satellite's, may be used. `false` by
    /// default. Kept without effect: Linux marks none.
    open var allowsUltraConstrainedNetworkAccess: Bool {
        get { snapshot.requestHints.allowsUltraConstrainedNetworkAccess }
        set { values.withLock { $0.requestHints.allowsUltraConstrainedNetworkAccess = newValue } }
    }

    /// Whether look-ups of names have to be validated with DNSSEC. `false` by default. Kept without effect: the
    /// system's resolver validates as far as it is configured to, and does not say whether it has.
    open var requiresDNSSECValidation: Bool {
        get { snapshot.requestHints.requiresDNSSECValidation }
        set { values.withLock { $0.requestHints.requiresDNSSECValidation = newValue } }
    }

    /// Whether a task that cannot connect waits, in place of failing. `false` by default.
    ///
    /// That is for names that cannot be looked up or are not known, for networks and hosts that cannot be reached, and
    /// for ports that refuse connections. The delegate's `urlSession(_:taskIsWaitingForConnectivity:)` is called once;
    /// then the task tries again after 1, 2, 4, 8 and 16 seconds and every 30 seconds from there on, until
    /// ``timeoutIntervalForResource`` is used up (``timeoutIntervalForRequest`` does not count meanwhile). A connection
    /// that was made and lost is not waited for.
    ///
    /// Background sessions always wait, without that call.
    open var waitsForConnectivity: Bool {
        get { snapshot.waitsForConnectivity }
        set { values.withLock { $0.waitsForConnectivity = newValue } }
    }

    /// Whether requests may be sent before the responses to earlier ones. Kept without effect: Purl does not pipeline,
    /// since servers and proxies on the way get it wrong (RFC 9112 §9.3.2). Connections are reused.
    open var httpShouldUsePipelining: Bool {
        get { snapshot.httpShouldUsePipelining }
        set { values.withLock { $0.httpShouldUsePipelining = newValue } }
    }

    /// Whether the loader of earlier systems is used. `true` by default. Kept without effect: Purl has one.
    open var usesClassicLoadingMode: Bool {
        get { snapshot.usesClassicLoadingMode }
        set { values.withLock { $0.usesClassicLoadingMode = newValue } }
    }

    /// Whether safe requests are sent before a TLS handshake has ended. `false` by default. Kept without effect: an attacker
    /// could send such a request again.
    open var enablesEarlyData: Bool {
        get { snapshot.enablesEarlyData }
        set { values.withLock { $0.enablesEarlyData = newValue } }
    }

    /// The lowest version of TLS that is accepted: the ``tlsProvider`` is asked for it. TLS 1.2 by default.
    open var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { snapshot.tlsMinimumSupportedProtocolVersion }
        set { values.withLock { $0.tlsMinimumSupportedProtocolVersion = newValue } }
    }

    /// The highest version of TLS that is offered: the ``tlsProvider`` is asked for it. TLS 1.3 by default.
    open var tlsMaximumSupportedProtocolVersion: tls_protocol_version_t {
        get { snapshot.tlsMaximumSupportedProtocolVersion }
        set { values.withLock { $0.tlsMaximumSupportedProtocolVersion = newValue } }
    }

    /// The TLS provider of all sessions whose configuration has none of its own: those of ``default``, ``ephemeral`` and
    /// ``background(withIdentifier:)`` configurations, and ``URLSession/shared``. `nil` until the program sets one.
    ///
    /// ```swift
    /// import PurlTLS
    ///
    /// URLSessionConfiguration.defaultTLSProvider = SystemTLS()
    /// ```
    ///
    /// It is the program's to set, once, before its first request; it can be set and read from any thread. It counts for
    /// sessions that exist already as well, from their next connection on: a library may have made one before. The
    /// connections of an earlier provider are not used for further requests then; those that are under way finish.
    public static var defaultTLSProvider: (any TLSProvider)? {
        get { DefaultTLSProvider.current.provider }
        set { DefaultTLSProvider.set(newValue) }
    }

    /// The TLS library by which `https` and `wss` are loaded, and streams become secure. See <doc:TLS>.
    ///
    /// The current ``defaultTLSProvider``, until it is set; from then on what it was set to, in copies as well. `nil`:
    /// secure connections fail with `URLError.unsupportedURL`.
    open var tlsProvider: (any TLSProvider)? {
        get { snapshot.tlsProviderChoice.provider }
        set {
            let choice = TLSProviderChoice(newValue)
            values.withLock { $0.tlsProviderChoice = choice }
        }
    }

    /// Whether connections stay open when the program goes to the background. Kept without effect on Linux.
    open var shouldUseExtendedBackgroundIdleMode: Bool {
        get { snapshot.shouldUseExtendedBackgroundIdleMode }
        set { values.withLock { $0.shouldUseExtendedBackgroundIdleMode = newValue } }
    }

    /// Header fields sent with every request that does not set them itself. Keys and values are strings.
    open var httpAdditionalHeaders: [AnyHashable: Any]? {
        get {
            let headers = snapshot.additionalFields.dictionary
            return headers.isEmpty ? nil : headers
        }
        set {
            var headers: [String: String] = [:]
            for (name, value) in newValue ?? [:] {
                headers["\(name.base)"] = "\(value)"
            }
            let fields = AdditionalFields(headers)
            values.withLock { $0.additionalFields = fields }
        }
    }

    // MARK: Cookies

    /// Where the session's cookies are kept: ``HTTPCookieStorage/shared``, or one in memory for an ephemeral
    /// configuration. `nil`: nowhere; none are sent and none stored.
    open var httpCookieStorage: HTTPCookieStorage? {
        get { snapshot.httpCookieStorage }
        set { values.withLock { $0.httpCookieStorage = newValue } }
    }

    /// Which cookies the session accepts. The storage's own policy counts as well.
    open var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { snapshot.httpCookieAcceptPolicy }
        set { values.withLock { $0.httpCookieAcceptPolicy = newValue } }
    }

    /// Whether requests carry the storage's cookies. `true` by default; one with a `Cookie` field of its own does not.
    open var httpShouldSetCookies: Bool {
        get { snapshot.httpShouldSetCookies }
        set { values.withLock { $0.httpShouldSetCookies = newValue } }
    }

    // MARK: Credentials

    /// Where the session finds credentials before it asks its delegate: ``URLCredentialStorage/shared``, or one of its
    /// own for an ephemeral configuration. `nil`: nowhere; the session then remembers accepted credentials by itself.
    open var urlCredentialStorage: URLCredentialStorage? {
        get { snapshot.urlCredentialStorage }
        set { values.withLock { $0.urlCredentialStorage = newValue } }
    }

    // MARK: Cache

    /// Where responses to data tasks are stored and looked for: ``URLCache/shared``, one of 4 MiB in memory for an
    /// ephemeral configuration, none for a background session. `nil`: nowhere. See <doc:Caching>.
    open var urlCache: URLCache? {
        get { snapshot.urlCache }
        set { values.withLock { $0.urlCache = newValue } }
    }

    // MARK: Protocols

    /// The classes that are asked, the first one first, whether they load a request; if none does, it is loaded from
    /// its server. Empty by default.
    ///
    /// Classes that are not subclasses of ``URLProtocol`` are left out. Background sessions do not ask: their transfers
    /// may resume in a process without the class. ``URLSession/shared`` asks the classes that were registered with
    /// ``URLProtocol/registerClass(_:)``.
    open var protocolClasses: [AnyClass]? {
        get { snapshot.protocolClasses }
        set {
            let classes = (newValue ?? []).compactMap { $0 as? URLProtocol.Type }
            values.withLock { $0.protocolClasses = classes }
        }
    }

    // MARK: Connections

    /// The proxy through which the session loads, and the hosts it reaches without; see <doc:Proxies>.
    ///
    /// | key | value |
    /// | --- | --- |
    /// | ``kCFNetworkProxiesHTTPEnable`` | a number; the proxy is used when it is there and not zero |
    /// | ``kCFNetworkProxiesHTTPProxy`` | the proxy's name or address, or a URL with its user and password |
    /// | ``kCFNetworkProxiesHTTPPort`` | a number, or its digits; 80 when it is missing |
    /// | `"HTTPProxyUsername"`, `"HTTPProxyPassword"` | the credentials for the proxy |
    /// | ``kCFNetworkProxiesExceptionsList`` | hosts that are reached without the proxy |
    /// | ``kCFNetworkProxiesExcludeSimpleHostnames`` | a number; not zero: no proxy for names without a dot |
    ///
    /// `nil`, the default, means the proxy that the environment names when the session is made: `http_proxy`, or
    /// `all_proxy`, except for the hosts in `no_proxy` and this machine. An empty dictionary means no proxy.
    ///
    /// An invalid value makes the tasks that would use it fail with `URLError.cannotConnectToHost`. Other keys are kept
    /// without effect. Numbers, texts and lists of texts come back as they were set, anything else as its description.
    open var connectionProxyDictionary: [AnyHashable: Any]? {
        get { snapshot.proxyDictionary?.dictionary }
        set {
            let dictionary = newValue.map { ProxyDictionary($0) }
            values.withLock { $0.proxyDictionary = dictionary }
        }
    }

    /// Which traffic may use several paths at once with Multipath TCP (RFC 8684). `.none` by default.
    open var multipathServiceType: MultipathServiceType {
        get { snapshot.multipathServiceType }
        set { values.withLock { $0.multipathServiceType = newValue } }
    }

    /// How many connections at most are open to one host, or one proxy, at a time. 6 by default; less than 1 means 1.
    ///
    /// Each takes a descriptor. When the process has only a few left, tasks wait as if the open connections were the
    /// maximum; without a single one to wait for they fail with `URLError.cannotConnectToHost`.
    open var httpMaximumConnectionsPerHost: Int {
        get { snapshot.httpMaximumConnectionsPerHost }
        set { values.withLock { $0.httpMaximumConnectionsPerHost = newValue } }
    }

    /// What the session accepts from servers, how fast it receives and sends, and how much a task holds in memory.
    open var limits: Limits {
        get { snapshot.limits }
        set { values.withLock { $0.limits = newValue } }
    }

    /// The folder of unfinished downloads; made when it is first needed.
    ///
    /// `nil` (the default) means the user's cache directory under the program's name. Resume data names partial
    /// files relative to this folder, so a session that resumes a download has to use the folder that started it.
    open var partialDownloadsDirectory: URL? {
        get { snapshot.partialDownloadsDirectory }
        set { values.withLock { $0.partialDownloadsDirectory = newValue } }
    }

    // MARK: Uploads

    /// Whether upload tasks resume where they stopped, if their connection is lost and the server takes uploads in parts
    /// (draft-ietf-httpbis-resumable-upload). `.automatic` by default; see <doc:Uploading>.
    open var resumableUploads: ResumableUploads {
        get { snapshot.resumableUploads }
        set { values.withLock { $0.resumableUploads = newValue } }
    }

    /// The version of the protocol that uploads ask for. `.eight` by default. A server that responds with the other one is
    /// asked for that.
    open var resumableUploadVersion: ResumableUploadVersion {
        get { snapshot.resumableUploadVersion }
        set { values.withLock { $0.resumableUploadVersion = newValue } }
    }

    // MARK: Background sessions

    /// The folder in which background sessions keep a folder each; made when it is first needed.
    ///
    /// `nil` (the default) means the user's data directory (`$XDG_DATA_HOME`), under ``sharedContainerIdentifier`` or
    /// the program's name.
    open var backgroundSessionsDirectory: URL? {
        get { snapshot.backgroundSessionsDirectory }
        set { values.withLock { $0.backgroundSessionsDirectory = newValue } }
    }

    /// The name of a folder in the user's data directory that several programs share; the first to make the session has
    /// its tasks. `nil`, the default, means the program's own folder.
    open var sharedContainerIdentifier: String? {
        get { snapshot.sharedContainerIdentifier }
        set { values.withLock { $0.sharedContainerIdentifier = newValue } }
    }

    /// Whether a background session's unfinished downloads resume by themselves when another process makes the session
    /// again. `false`, the default, is what Apple's systems do after a program was ended by force: the downloads end
    /// with `URLError.cancelled` and resume data. Uploads from files start over, or end with the same error.
    open var continuesDownloadsAfterRelaunch: Bool {
        get { snapshot.continuesDownloadsAfterRelaunch }
        set { values.withLock { $0.continuesDownloadsAfterRelaunch = newValue } }
    }

    /// Whether the system launches the program for the session's events. Kept without effect: events are delivered when
    /// the program makes the session.
    open var sessionSendsLaunchEvents: Bool {
        get { snapshot.sessionSendsLaunchEvents }
        set { values.withLock { $0.sessionSendsLaunchEvents = newValue } }
    }

    /// Whether the system may choose a better time for the session's transfers. Kept without effect; they start at
    /// once.
    open var isDiscretionary: Bool {
        get { snapshot.isDiscretionary }
        set { values.withLock { $0.isDiscretionary = newValue } }
    }

    // MARK: Time

    /// The clock by which the session's time-outs are measured; `nil`, the default, is the system's, which never jumps.
    ///
    /// A test of a time-out sets a clock that it advances by hand, such as `ManualClock` of `PurlTesting`, and does not
    /// have to wait. The clock counts for ``timeoutIntervalForRequest`` and ``timeoutIntervalForResource``, the pauses
    /// of ``waitsForConnectivity``, the second that a body waits for `100 Continue`, how long a WebSocket's end is waited
    /// for, and how long an idle connection is trusted. It does not count for dates of the calendar
    /// (``URLSessionTask/earliestBeginDate``, cookies, the cache) and for metrics.
    open var clock: (any Clock<Duration>)? {
        get { snapshot.clock.custom?.clock }
        set { values.withLock { $0.clock = SessionClock(newValue) } }
    }

    // MARK: Connections of another kind

    /// Makes every connection of the session; `nil`, the default, for the system's sockets.
    ///
    /// It is called for servers of every scheme, for streams and for proxies, each time that no connection can be used
    /// again. HTTP, WebSocket, the proxy's protocol and TLS are spoken over what it returns. ``resolver``,
    /// ``prepareSocket`` and ``multipathServiceType`` have no effect beside it; ``SystemConnector`` takes the first two.
    /// See <doc:Connectors>.
    open var connector: (any Connector)? {
        get { snapshot.connector }
        set { values.withLock { $0.connector = newValue } }
    }

    /// Looks up the addresses of hosts; `nil`, the default, for the system's resolver. Hosts in digits are not looked up.
    open var resolver: (any HostResolver)? {
        get { snapshot.resolver }
        set { values.withLock { $0.resolver = newValue } }
    }

    /// Sees each socket before it connects to an address; `nil` by default.
    ///
    /// It may set options (`SO_BINDTODEVICE`, `SO_MARK`, `SO_KEEPALIVE`) and bind the socket to an address of this machine.
    /// It must not close, connect or replace it. It is called outside the network thread, once for each address that is
    /// tried, and cancelled when the attempt is no longer wanted; its time counts as connecting. An error that it throws
    /// fails the attempt, as an error of `connect` does, and is the underlying error of the task's.
    ///
    /// ```swift
    /// configuration.prepareSocket = { socket, address in
    ///     var isOn: Int32 = 1
    ///     setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &isOn, socklen_t(MemoryLayout<Int32>.size))
    /// }
    /// ```
    open var prepareSocket: (@Sendable (_ descriptor: Int32, _ address: TransportAddress) async throws -> Void)? {
        get { snapshot.prepareSocket }
        set { values.withLock { $0.prepareSocket = newValue } }
    }

    // MARK: Seeing what happens

    /// Records what happens to the session's tasks; `nil`, the default, records nothing and costs nothing.
    ///
    /// Several sessions and tasks can share a trace. See <doc:Traces>.
    public var trace: TransferTrace? {
        get { snapshot.trace }
        set { values.withLock { $0.trace = newValue } }
    }

    // MARK: For Purl's own programs

    /// What is delivered of bodies with content codings.
    package var codedContent: CodedContent {
        get { snapshot.codedContent }
        set { values.withLock { $0.codedContent = newValue } }
    }

    // MARK: For tests

    /// The clock by which a background session waits to be asked for the tasks of an earlier process; `nil` for the system's.
    package var graceClock: (any Clock<Duration>)? {
        get { snapshot.graceClock.custom?.clock }
        set { values.withLock { $0.graceClock = SessionClock(newValue) } }
    }

    /// The file system of partial files and journals.
    package var files: any FileLayer {
        get { snapshot.files }
        set { values.withLock { $0.files = newValue } }
    }

    /// The variables in place of the process's environment in which the session looks for a proxy.
    package var proxyVariables: [String: String]? {
        get { snapshot.proxyVariables }
        set { values.withLock { $0.proxyVariables = newValue } }
    }

    /// Looks up the hosts' addresses.
    package var nameResolver: any Resolver {
        get { snapshot.nameResolver }
        set { values.withLock { $0.nameResolver = newValue } }
    }
}

extension URLSessionConfiguration {
    /// How connections use several paths to a server with Multipath TCP (RFC 8684).
    ///
    /// Every type but `.none` makes the session's connections with `IPPROTO_MPTCP`, where the kernel has it; which
    /// paths they use is the kernel's decision (`ip mptcp endpoint`). A kernel without it, and a server that does not
    /// speak it, make plain TCP connections.
    public enum MultipathServiceType: Int, Sendable {
        /// TCP with one path.
        case none = 0
        /// Another path when the first fails.
        case handover = 1
        /// Another path as soon as the first is slow.
        case interactive = 2
        /// All paths together.
        case aggregate = 3
    }
}

extension URLSessionConfiguration {
    /// Whether upload tasks resume where they stopped.
    public enum ResumableUploads: Sendable, Hashable, CaseIterable {
        /// Requests are what they would be without resumption. If the server offers it nonetheless, with a 104 response, it
        /// is used.
        case automatic
        /// Requests of upload tasks ask the server to offer it, with `Upload-Complete`, `Upload-Length` and
        /// `Upload-Draft-Interop-Version`. One that does not know these fields ignores them.
        case always
        /// No upload resumes, not even when the server offers it.
        case never
    }

    /// A version of draft-ietf-httpbis-resumable-upload: both ends have to speak the same.
    public enum ResumableUploadVersion: Int, Sendable, CaseIterable {
        /// The protocol of draft -05, which most servers support.
        case six = 6
        /// The protocol of draft -09 and later.
        case eight = 8

        var version: UploadVersion {
            switch self {
            case .six: .six
            case .eight: .eight
            }
        }
    }
}

/// The header fields that a session sends with every request that does not set them itself.
struct AdditionalFields: Sendable {
    /// One field, in the spelling of the program.
    struct Field: Sendable {
        let name: FieldName
        let value: String
        /// Whether it is never sent to another origin than the request's first.
        let isCredential: Bool
    }

    /// The fields as the program set them.
    let dictionary: [String: String]
    /// The fields in the order in which they are sent.
    private let fields: [Field]

    init(_ dictionary: [String: String]) {
        self.dictionary = dictionary
        fields = dictionary.sorted { $0.key < $1.key }.map { name, value in
            Field(name: FieldName(name), value: value, isCredential: Redirect.isCredential(name))
        }
    }

    func contains(_ name: FieldName) -> Bool { fields.contains { $0.name == name } }

    /// The fields that may be sent with a request.
    ///
    /// - Parameter mayCarryCredentials: False once a redirect has left the first origin.
    func fields(mayCarryCredentials: Bool) -> [Field] {
        mayCarryCredentials ? fields : fields.filter { !$0.isCredential }
    }
}

extension URLRequest {
    /// Whether the program has set a field, in the request or for the session.
    func carries(_ name: FieldName, or additional: AdditionalFields) -> Bool {
        value(forHTTPHeaderField: name.text) != nil || additional.contains(name)
    }
}
