import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("What Foundation has on Apple's systems beyond FoundationNetworking", .timeLimit(.minutes(5)))
struct FoundationSettingTests {
    private let sandbox = Sandbox()

    @Test(
        "A configuration has Apple's defaults for the settings that have no effect on Linux, and keeps what is set"
    )
    func configuration() throws {
        let configuration = URLSessionConfiguration.default
        #expect(configuration.allowsExpensiveNetworkAccess && configuration.allowsConstrainedNetworkAccess)
        #expect(!configuration.allowsUltraConstrainedNetworkAccess && !configuration.requiresDNSSECValidation)
        #expect(configuration.multipathServiceType == .none)
        #expect(configuration.usesClassicLoadingMode && !configuration.enablesEarlyData)
        #expect(configuration.tlsMinimumSupportedProtocolVersion == .TLSv12)
        #expect(configuration.tlsMaximumSupportedProtocolVersion == .TLSv13)
        configuration.allowsExpensiveNetworkAccess = false
        configuration.allowsConstrainedNetworkAccess = false
        configuration.allowsUltraConstrainedNetworkAccess = true
        configuration.requiresDNSSECValidation = true
        configuration.multipathServiceType = .handover
        configuration.usesClassicLoadingMode = false
        configuration.enablesEarlyData = true
        configuration.tlsMinimumSupportedProtocolVersion = .TLSv13
        configuration.tlsMaximumSupportedProtocolVersion = .TLSv12
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        let copy = session.configuration
        #expect(!copy.allowsExpensiveNetworkAccess && !copy.allowsConstrainedNetworkAccess)
        #expect(copy.allowsUltraConstrainedNetworkAccess && copy.requiresDNSSECValidation)
        #expect(copy.multipathServiceType == .handover)
        #expect(!copy.usesClassicLoadingMode && copy.enablesEarlyData)
        #expect(copy.tlsMinimumSupportedProtocolVersion == .TLSv13)
        #expect(copy.tlsMaximumSupportedProtocolVersion == .TLSv12)
        // Requests made from URLs have the session's settings.
        let request = session.dataTask(with: try #require(URL(string: "http://a.example/"))).originalRequest
        #expect(request?.allowsExpensiveNetworkAccess == false && request?.allowsConstrainedNetworkAccess == false)
        #expect(request?.allowsUltraConstrainedNetworkAccess == true && request?.requiresDNSSECValidation == true)
    }

    private static let changes: [(String, @Sendable (inout URLRequest) -> Void)] = [
        ("allowsExpensiveNetworkAccess", { $0.allowsExpensiveNetworkAccess = false }),
        ("allowsConstrainedNetworkAccess", { $0.allowsConstrainedNetworkAccess = false }),
        ("allowsUltraConstrainedNetworkAccess", { $0.allowsUltraConstrainedNetworkAccess = true }),
        ("requiresDNSSECValidation", { $0.requiresDNSSECValidation = true }),
        ("assumesHTTP3Capable", { $0.assumesHTTP3Capable = true }),
        ("allowsPersistentDNS", { $0.allowsPersistentDNS = true }),
        ("attribution", { $0.attribution = .user }),
        ("cookiePartitionIdentifier", { $0.cookiePartitionIdentifier = "part" }),
        ("networkServiceType", { $0.networkServiceType = .responsiveAV }),
    ]

    @Test(
        "A request keeps the settings that have no effect on Linux, also as an object and in an archive",
        arguments: changes)
    func request(name: String, change: @Sendable (inout URLRequest) -> Void) throws {
        let plain = URLRequest(url: try #require(URL(string: "http://a.example/")))
        var request = plain
        change(&request)
        // These settings do not count when requests are compared.
        func hasSettings(_ other: URLRequest, of request: URLRequest) -> Bool {
            other.hints == request.hints && other.networkServiceType == request.networkServiceType
        }
        #expect(!hasSettings(plain, of: request))
        #expect(hasSettings(URLRequest(referencing: NSURLRequest(request)), of: request))
        #expect(hasSettings(try #require(StoredRequest(request).request), of: request))
    }

    @Test("A request object has the properties of its value")
    func object() throws {
        let object = NSMutableURLRequest(url: try #require(URL(string: "http://a.example/")))
        object.allowsExpensiveNetworkAccess = false
        object.allowsConstrainedNetworkAccess = false
        object.allowsUltraConstrainedNetworkAccess = true
        object.requiresDNSSECValidation = true
        object.assumesHTTP3Capable = true
        object.allowsPersistentDNS = true
        object.attribution = .user
        object.cookiePartitionIdentifier = "part"
        let request = URLRequest(referencing: object)
        #expect(!request.allowsExpensiveNetworkAccess && !request.allowsConstrainedNetworkAccess)
        #expect(request.allowsUltraConstrainedNetworkAccess && request.requiresDNSSECValidation)
        #expect(request.assumesHTTP3Capable && request.allowsPersistentDNS)
        #expect(request.attribution == .user && request.cookiePartitionIdentifier == "part")
        let copy = NSURLRequest(request)
        #expect(copy.isEqual(object))
        #expect(!copy.allowsExpensiveNetworkAccess && copy.attribution == NSURLRequest.Attribution.user)
    }

    @Test("Numbers and names are Apple's")
    func numbers() {
        let services: [URLRequest.NetworkServiceType] = [.responsiveData, .avStreaming, .responsiveAV]
        #expect(services.map(\.rawValue) == [6, 8, 9])
        #expect([URLRequest.Attribution.developer, .user].map(\.rawValue) == [0, 1])
        let types: [URLSessionConfiguration.MultipathServiceType] = [.none, .handover, .interactive, .aggregate]
        #expect(types.map(\.rawValue) == [0, 1, 2, 3])
        #expect(NSURLAuthenticationMethodServerTrust == "NSURLAuthenticationMethodServerTrust")
        #expect(NSURLAuthenticationMethodClientCertificate == "NSURLAuthenticationMethodClientCertificate")
    }

    @Test(
        "networkUnavailableReason is read from an error, and nil for Purl's own",
        arguments: [(0, .cellular), (1, .expensive), (2, .constrained), (3, nil), (nil, nil)]
            as [(Int?, URLError.NetworkUnavailableReason?)])
    func networkUnavailableReason(number: Int?, reason: URLError.NetworkUnavailableReason?) {
        let userInfo = number.map { [NSURLErrorNetworkUnavailableReasonKey: $0] } ?? [:]
        #expect(URLError(.notConnectedToInternet, userInfo: userInfo).networkUnavailableReason == reason)
    }

    @Test(
        "A session with a multipath service type loads, whether or not the kernel and the server speak Multipath TCP",
        arguments: [URLSessionConfiguration.MultipathServiceType.handover, .interactive, .aggregate])
    func multipath(type: URLSessionConfiguration.MultipathServiceType) async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 3_000_000, seed: 71)
        try content.data.write(to: sandbox.file("upload"))
        let session = sandbox.session { $0.multipathServiceType = type }
        let url = server.route("/file", .generated(content))
        let (data, _) = try await session.data(from: url)
        #expect(content.matches(data))
        let (file, _) = try await session.download(from: url)
        #expect(content.matches(try Data(contentsOf: file)))
        try FileManager.default.removeItem(at: file)
        server.route("/up", .text("done"))
        _ = try await session.upload(for: Upload.request(server.url("/up")), fromFile: sandbox.file("upload"))
        #expect(server.requests.last?.body.isSame(as: content.data) == true)
    }

    @Test("reset() and flush() return when they have taken effect")
    func resetAndFlush() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("x").field("Set-Cookie", "a=1"))
        let session = sandbox.session()
        _ = try await session.data(from: url)
        await session.flush()
        _ = try await session.data(from: url)
        #expect(server.acceptedConnections == 2)
        #expect(session.configuration.httpCookieStorage?.names == ["a"])
        await session.reset()
        #expect(session.configuration.httpCookieStorage?.names == [])
        _ = try await session.data(from: url)
        #expect(server.acceptedConnections == 3)
    }

    @Test("The async getters of a credential storage return what it has")
    func credentials() async throws {
        let storage = URLCredentialStorage()
        let space = URLProtectionSpace(
            host: "a.example", port: 80, protocol: "http", realm: "r", authenticationMethod: nil)
        let session = sandbox.session()
        let task = session.dataTask(with: try #require(URL(string: "http://a.example/")))
        #expect(await storage.credentials(for: space, task: task) == nil)
        #expect(await storage.defaultCredential(for: space, task: task) == nil)
        let credential = URLCredential(user: "me", password: "secret", persistence: .forSession)
        storage.setDefaultCredential(credential, for: space)
        #expect(await storage.credentials(for: space, task: task) == ["me": credential])
        #expect(await storage.defaultCredential(for: space, task: task) == credential)
    }
}
