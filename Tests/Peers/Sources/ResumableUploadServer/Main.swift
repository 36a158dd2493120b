import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix
import NIOResumableUpload

/// An HTTP server that takes uploads with SwiftNIO's `NIOResumableUpload`: `ResumableUploadServer FOLDER`.
///
/// It listens on a free port of 127.0.0.1, and prints `port N`. The content of an upload to `/NAME` is written to
/// `FOLDER/NAME.part` as it arrives. When it is complete, the file is renamed to `FOLDER/NAME`, and `NAME LENGTH` printed.
@main
enum Main {
    static func main() async throws {
        guard let path = CommandLine.arguments.dropFirst().first else {
            FileHandle.standardError.write(Data("usage: ResumableUploadServer FOLDER\n".utf8))
            exit(2)
        }
        let folder = URL(fileURLWithPath: path, isDirectory: true)
        // The requests come through a proxy: a `Location` without an origin leads back to it.
        let context = HTTPResumableUploadContext(origin: "")
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
                    try pipeline.addHandler(
                        HTTPResumableUploadHandler(context: context, handlers: [UploadStorage(in: folder)]))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        announce("port \(server.localAddress?.port ?? 0)")
        try await server.closeFuture.get()
    }
}

/// Prints a line, without buffering when the output is a pipe.
private func announce(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

/// Writes the content of one upload to a file. To it an upload is one request, however often it was resumed.
final class UploadStorage: ChannelInboundHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPResponsePart

    private let folder: URL
    private var name = ""
    private var file: FileHandle?

    init(in folder: URL) {
        self.folder = folder
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        do {
            switch unwrapInboundIn(data) {
            case .head(let request):
                try begin(request)
            case .body(let bytes):
                try file?.write(contentsOf: Data(bytes.readableBytesView))
            case .end:
                respond(try finish() ? .created : .badRequest, context)
            }
        } catch {
            announce("failed: \(error)")
            respond(.internalServerError, context)
        }
    }

    private func begin(_ request: HTTPRequest) throws {
        name = String((request.path ?? "").split(separator: "?").first?.dropFirst() ?? "")
        let isUpload = request.method == .put || request.method == .post
        guard isUpload, !name.isEmpty, !name.contains("/"), !name.hasPrefix(".") else { return }
        _ = FileManager.default.createFile(atPath: part.path, contents: nil)
        file = try FileHandle(forWritingTo: part)
    }

    private func finish() throws -> Bool {
        guard let file else { return false }
        let length = try file.offset()
        try file.close()
        self.file = nil
        guard rename(part.path, folder.appendingPathComponent(name).path) == 0 else { return false }
        announce("\(name) \(length)")
        return true
    }

    private var part: URL { folder.appendingPathComponent(name + ".part") }

    private func respond(_ status: HTTPResponse.Status, _ context: ChannelHandlerContext) {
        let response = HTTPResponse(status: status, headerFields: [.contentLength: "0"])
        context.write(wrapOutboundOut(.head(response)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
