import Foundation

/// What a runner is asked to do.
public enum Workload {
    /// `count` GETs of `url`, `concurrency` of them under way at a time.
    case small(url: URL, count: Int, concurrency: Int)
    /// The same with `await`, where a library has both ways.
    case awaited(url: URL, count: Int, concurrency: Int)
    /// One GET of `url` into the file at `path`.
    case download(url: URL, path: String)
    /// One GET of `url`, handed piece by piece to code that takes `pause` seconds a piece.
    case pieces(url: URL, pause: TimeInterval)
    /// One PUT of the file at `path`.
    case upload(url: URL, path: String)
    /// `count` GETs of `url` at once.
    case waiting(url: URL, count: Int)
    /// `count` messages of `size` bytes to the WebSocket server at `url` and back, `inFlight` of them under way at a time.
    case echo(url: URL, size: Int, count: Int, inFlight: Int)

    /// From the command line; ends the program when it makes no sense.
    public static func fromArguments() -> Workload {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let names = ["small", "await", "download", "pieces", "upload", "waiting", "echo"]
        guard let name = arguments.first, names.contains(name), arguments.count >= 2,
            let url = URL(string: arguments[1])
        else { usage() }
        let rest = Array(arguments.dropFirst(2))
        switch name {
        case "small", "await":
            guard rest.count == 2, let count = Int(rest[0]), let concurrency = Int(rest[1]) else { usage() }
            return name == "small"
                ? .small(url: url, count: count, concurrency: concurrency)
                : .awaited(url: url, count: count, concurrency: concurrency)
        case "download":
            guard rest.count == 1 else { usage() }
            return .download(url: url, path: rest[0])
        case "pieces":
            guard rest.count == 1, let pause = TimeInterval(rest[0]) else { usage() }
            return .pieces(url: url, pause: pause)
        case "upload":
            guard rest.count == 1 else { usage() }
            return .upload(url: url, path: rest[0])
        case "echo":
            let numbers = rest.compactMap { Int($0) }
            guard rest.count == 3, numbers.count == 3 else { usage() }
            return .echo(url: url, size: numbers[0], count: numbers[1], inFlight: numbers[2])
        default:
            guard rest.count == 1, let count = Int(rest[0]) else { usage() }
            return .waiting(url: url, count: count)
        }
    }

    private static func usage() -> Never {
        FileHandle.standardError.write(
            Data(
                """
                usage: small URL COUNT CONCURRENCY | await URL COUNT CONCURRENCY | download URL FILE
                       | pieces URL SECONDS | upload URL FILE | waiting URL COUNT | echo URL SIZE COUNT IN_FLIGHT

                """.utf8))
        exit(2)
    }
}
