public import Foundation

/// What a ``LoopbackServer`` serves, written as text: routes, and for each of them content, validators, ranges and faults.
///
/// ```
/// route /file
///   generated 4M seed 1
///   etag "v1"
///   1: cut after 1M
/// ```
///
/// The same scripts are what `purl serve` takes. <doc:Server-scripts> has the grammar.
///
/// ```swift
/// let server = try LoopbackServer(script: ServerScript(contentsOf: file))
/// ```
public struct ServerScript: Sendable {
    /// Where a script is wrong, and why.
    public struct ParseError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The line, from 1.
        public let line: Int
        /// The character in the line, from 1.
        public let column: Int
        /// What is wrong, as a sentence.
        public let reason: String

        /// `line:column: reason`.
        public var description: String { "\(line):\(column): \(reason)" }
    }

    /// What the script says of itself, for people and programs: lines such as `title`, by their first word.
    public let notes: [String: String]
    /// The paths of the routes, in the script's order.
    public var paths: [String] { routes.map(\.path) }

    /// The routes, without requests.
    let routes: [ScriptedRoute]

    /// Reads a script.
    ///
    /// - Parameters:
    ///   - text: The script.
    ///   - folder: Where the paths of files begin; the current folder by default.
    /// - Throws: ``ParseError`` at the first mistake.
    public init(_ text: String, folder: URL? = nil) throws(ParseError) {
        let parsed = try ScriptParser.parse(text)
        notes = parsed.notes
        routes = parsed.routes.map { route in
            var route = route
            route.seed = parsed.seed
            if let folder { route.folder = folder }
            return route
        }
    }

    /// Reads a script from a file. The paths of files in it begin at the script's folder.
    ///
    /// - Parameter url: Where the script is.
    /// - Throws: ``ParseError`` at the first mistake, or the error of reading the file.
    public init(contentsOf url: URL) throws {
        let text = String(decoding: try Data(contentsOf: url), as: UTF8.self)
        try self.init(text, folder: url.deletingLastPathComponent())
    }
}

extension LoopbackServer {
    /// Starts a server with the routes of a script. Blocks the thread until it listens.
    ///
    /// - Parameters:
    ///   - script: What to serve.
    ///   - transport: What to listen on.
    ///   - port: The TCP port; 0 lets the system choose a free one.
    ///   - maximumRecordedBody: How many bytes of each request's body are kept; the rest is counted and dropped.
    ///   - tls: How to speak TLS; `nil` for a server in the open.
    /// - Throws: ``StartError`` when the server cannot listen at the address, or there is no OpenSSL for TLS.
    public convenience init(
        script: ServerScript, _ transport: Transport = .ipv4, port: UInt16 = 0, maximumRecordedBody: Int = 64 << 20,
        tls: ServerTLS? = nil
    ) throws(StartError) {
        try self.init(transport, port: port, maximumRecordedBody: maximumRecordedBody, tls: tls)
        load(script)
    }
}
