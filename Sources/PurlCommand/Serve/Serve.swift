import Foundation
internal import PurlIO
import PurlTesting

/// `purl serve`: a server on this machine that does what a script says.
struct Serve {
    private let options: ServeOptions
    private let output: Console
    private let errors: Console

    init(_ options: ServeOptions, output: Console, errors: Console) {
        self.options = options
        self.output = output
        self.errors = errors
    }

    func run() async -> ExitCode {
        do throws(CommandFailure) {
            switch options {
            case .list:
                list()
            case .show(let name):
                for line in try ready(name).text.split(separator: "\n", omittingEmptySubsequences: false) {
                    output.print(String(line))
                }
            case .serve(let name, let port, let log, let scheme):
                try await serve(try script(name), port: port, log: try self.log(log), scheme)
            }
            return .success
        } catch {
            errors.print("purl: \(error.sentence)")
            return .failure
        }
    }

    private func list() {
        let width = ServerScript.ready.map(\.name.count).max() ?? 0
        for ready in ServerScript.ready {
            let title = (try? ServerScript(ready.text))?.notes["title"] ?? ""
            output.print(ready.name.padding(toLength: width + 2, withPad: " ", startingAt: 0) + title)
        }
    }

    // MARK: Scripts and logs

    private func ready(_ name: String) throws(CommandFailure) -> ServerScript.Ready {
        if let ready = ServerScript.ready.first(where: { $0.name == name }) { return ready }
        throw CommandFailure("There is no ready script “\(name)”\(Self.advice(name))")
    }

    /// The end of the sentence that there is no such script.
    private static func advice(_ name: String) -> String {
        let nearest = NearestName.of(name, among: ServerScript.ready.map(\.name))
        return nearest.map { ": did you mean “\($0)”?" } ?? "; “purl serve --list” shows those there are."
    }

    private func script(_ name: String) throws(CommandFailure) -> ServerScript {
        let file = URL(fileURLWithPath: name)
        let isFile = FileEntry(at: file, followingLinks: true) != .missing
        if isFile { try FileEntry.checkReadable(name) }
        do {
            if isFile { return try ServerScript(contentsOf: file) }
            guard let ready = ServerScript.ready.first(where: { $0.name == name }) else {
                throw CommandFailure("There is neither a file nor a ready script “\(name)”\(Self.advice(name))")
            }
            return try ServerScript(ready.text)
        } catch let failure as CommandFailure {
            throw failure
        } catch let error as ServerScript.ParseError {
            throw CommandFailure("\(name):\(error)")
        } catch {
            throw CommandFailure("“\(name)” cannot be read: \(error.localizedDescription)")
        }
    }

    private func log(_ path: String?) throws(CommandFailure) -> AccessLog {
        guard let path, path != "-" else { return AccessLog(output) }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw CommandFailure("“\(path)” cannot be written: \(String(cString: strerror(errno)))")
        }
        return AccessLog(Console(descriptor), path: path)
    }

    // MARK: Serving

    /// Returns after Ctrl-C.
    private func serve(
        _ script: ServerScript, port: UInt16, log: AccessLog, _ scheme: ServeOptions.Scheme
    ) async throws(CommandFailure) {
        let interrupts = Interrupts(errors)
        let root: RootFile?
        switch scheme {
        case .http: root = nil
        case .https: root = try RootFile()
        }
        defer { root?.remove() }
        let server: LoopbackServer
        do {
            server = try LoopbackServer(script: script, port: port, maximumRecordedBody: 0, tls: root?.tls)
        } catch {
            throw CommandFailure(
                error.code == EADDRINUSE
                    ? "Port \(port) is in use: choose another with “--port”, or leave it out for a free one."
                    : "The server cannot listen on port \(port): \(error.description)")
        }
        let urls = script.paths.map { server.url($0) }
        log.writeStart(urls, root: root?.file)

        let requests = Task { await Self.logRequests(of: server, in: log) }
        interrupts.onInterrupt {
            server.stop()
            requests.cancel()
        }
        for url in urls { errors.print("purl: serving \(url.absoluteString)") }
        if let root { errors.print("purl: the root to trust is in \(root.file.path)") }
        errors.print("purl: \(await requests.value.text)")
        try log.validate()
    }

    /// A new authority, and the file of its root, in a folder of its own.
    private struct RootFile {
        let tls: ServerTLS
        let file: URL

        init() throws(CommandFailure) {
            let authority = TestAuthority()
            let pem: String
            do {
                pem = try authority.rootPEM
            } catch {
                throw CommandFailure("\(error.description).")
            }
            do {
                let place = FileManager.default.temporaryDirectory.appendingPathComponent(
                    "purl-serve-\(UUID().uuidString)")
                // Fails where there is anything of that name.
                try FileManager.default.createDirectory(
                    at: place, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
                file = place.appendingPathComponent("root.pem")
                guard
                    FileManager.default.createFile(
                        atPath: file.path, contents: Data(pem.utf8), attributes: [.posixPermissions: 0o644])
                else { throw CocoaError(.fileWriteUnknown) }
                // Whatever the umask leaves of it: clients of other users read it, too.
                try FileManager.default.setAttributes(
                    [.posixPermissions: 0o755], ofItemAtPath: place.path)
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file.path)
            } catch {
                throw CommandFailure("The root's file cannot be written: \(error.localizedDescription)")
            }
            tls = ServerTLS(authority)
        }

        func remove() {
            try? FileManager.default.removeItem(at: file.deletingLastPathComponent())
        }
    }

    /// Logs requests as their responses end, until the task is cancelled.
    private static func logRequests(of server: LoopbackServer, in log: AccessLog) async -> ServeSummary {
        var summary = ServeSummary()
        while true {
            let isLast = Task.isCancelled
            for request in server.takeEndedRequests() {
                let request = LoggedRequest(request)
                log.write(request)
                summary.add(request)
            }
            if isLast { return summary }
            await server.wait { record in record.requests.contains { $0.ending != nil } }
        }
    }
}
