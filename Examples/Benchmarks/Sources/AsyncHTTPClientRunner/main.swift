import AsyncHTTPClient
import Foundation
import Measuring
import NIOCore
import NIOPosix
import NIOSSL

/// The same workloads with AsyncHTTPClient, each in the way its documentation proposes for it.
var configuration = HTTPClient.Configuration()
configuration.timeout = .init(connect: .seconds(30), read: .seconds(600))
if let root = ProcessInfo.processInfo.environment["TLS_ROOT"] {
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.trustRoots = .file(root)
    configuration.tlsConfiguration = tls
}

switch Workload.fromArguments() {
case .small(let url, let count, let concurrency), .awaited(let url, let count, let concurrency):
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = concurrency
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    try await SmallRequests(client, url.absoluteString, count, concurrency).run().print()
    try await client.shutdown()
case .download(let url, let path):
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    try await FileTransfer(client, url.absoluteString, path).download().print()
    try await client.shutdown()
case .upload(let url, let path):
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    try await FileTransfer(client, url.absoluteString, path).upload().print()
    try await client.shutdown()
case .pieces(let url, let pause):
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let clock = ContinuousClock()
    let start = clock.now
    let response = try await client.execute(HTTPClientRequest(url: url.absoluteString), timeout: .hours(1))
    var bytes: Int64 = 0
    for try await buffer in response.body {
        bytes += Int64(buffer.readableBytes)
        if pause > 0 { usleep(UInt32(pause * 1_000_000)) }
    }
    Figures(seconds: (clock.now - start).seconds, requests: 1, bytes: bytes).print()
    try await client.shutdown()
case .waiting(let url, let count):
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = count
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    let before = residentMemory()
    var measurement = try await SmallRequests(client, url.absoluteString, count, count).run()
    measurement.memoryBefore = before
    measurement.print()
    try await client.shutdown()
case .echo:
    // It has no WebSockets.
    exit(2)
}
