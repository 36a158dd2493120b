import AsyncHTTPClient
import Foundation
import Measuring
import NIOCore
import NIOPosix

/// One big file, down or up.
struct FileTransfer {
    private let client: HTTPClient
    private let url: String
    private let path: String
    private let clock = ContinuousClock()

    init(_ client: HTTPClient, _ url: String, _ path: String) {
        self.client = client
        self.url = url
        self.path = path
    }

    func download() async throws -> Figures {
        let start = clock.now
        let delegate = try FileDownloadDelegate(path: path)
        let progress = try await client.execute(request: HTTPClient.Request(url: url), delegate: delegate).get()
        return Figures(
            seconds: (clock.now - start).seconds, requests: 1, bytes: Int64(progress.receivedBytes))
    }

    func upload() async throws -> Figures {
        let start = clock.now
        let io = NonBlockingFileIO(threadPool: .singleton)
        let size = try await io.withFileRegion(path: path) { $0.readableBytes }
        let (handle, region) = try await io.openFile(path: path, eventLoop: client.eventLoopGroup.next()).get()
        defer { try? handle.close() }
        var request = try HTTPClient.Request(url: url, method: .PUT)
        request.body = .stream(contentLength: Int64(size)) { writer in
            io.readChunked(
                fileRegion: region, chunkSize: 1 << 17, allocator: ByteBufferAllocator(),
                eventLoop: client.eventLoopGroup.next()
            ) { writer.write(.byteBuffer($0)) }
        }
        let response = try await client.execute(request: request).get()
        return Figures(
            seconds: (clock.now - start).seconds, requests: response.status.code < 300 ? 1 : 0, bytes: Int64(size))
    }
}
