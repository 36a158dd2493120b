import Dispatch
import Foundation
import Measuring
import Purl

/// One big response, whose bytes, lines, characters or scalars are taken one by one in a loop.
///
/// The loops are written out, as users write them: what is measured is what the compiler makes of each.
struct Text {
    /// Where the loop is.
    private enum Isolation: String {
        case main, actor, none
    }

    private enum Element: String {
        case byte = "bytes"
        case line = "lines"
        case character = "characters"
        case scalar = "scalars"
    }

    private enum Work {
        case take(Element, from: Isolation)
        /// Prints each line as soon as it arrives.
        case printEvents
    }

    private let work: Work
    private let url: URL

    /// `bytes|lines|characters|scalars main|actor|none URL`, or `events URL`; `nil` for other arguments.
    init?(_ arguments: [String]) {
        guard let name = arguments.first, let text = arguments.last, let url = URL(string: text) else { return nil }
        self.url = url
        if name == "events", arguments.count == 2 {
            work = .printEvents
        } else if let element = Element(rawValue: name), arguments.count == 3,
            let isolation = Isolation(rawValue: arguments[1])
        {
            work = .take(element, from: isolation)
        } else {
            return nil
        }
    }

    func run() -> Never {
        Task { @MainActor in
            do {
                switch work {
                case .take(let element, let isolation): try await take(element, from: isolation).print()
                case .printEvents: try await printEvents()
                }
                exit(0)
            } catch {
                FileHandle.standardError.write(Data("\(error)\n".utf8))
                exit(1)
            }
        }
        dispatchMain()
    }

    private func take(_ element: Element, from isolation: Isolation) async throws -> Figures {
        let session = URLSession(configuration: .default)
        let start = DispatchTime.now()
        let (bytes, _) = try await session.bytes(from: url)
        switch isolation {
        case .main: try await onMainActor(bytes, element)
        case .actor: try await Reader().take(bytes, element)
        case .none: try await unisolated(bytes, element)
        }
        let seconds = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e9
        return Figures(seconds: seconds, requests: 1, bytes: bytes.task.countOfBytesReceived)
    }

    private func printEvents() async throws {
        let (bytes, _) = try await URLSession(configuration: .default).bytes(from: url)
        for try await line in bytes.lines {
            FileHandle.standardOutput.write(Data((line + "\n").utf8))
        }
    }

    @MainActor
    private func onMainActor(_ bytes: URLSession.AsyncBytes, _ element: Element) async throws {
        var sum = 0
        switch element {
        case .byte: for try await byte in bytes { sum &+= Int(byte) }
        case .line: for try await line in bytes.lines { sum &+= line.utf8.count }
        case .character: for try await _ in bytes.characters { sum &+= 1 }
        case .scalar: for try await scalar in bytes.unicodeScalars { sum &+= Int(scalar.value) }
        }
        result = sum
    }

    private func unisolated(_ bytes: URLSession.AsyncBytes, _ element: Element) async throws {
        var sum = 0
        switch element {
        case .byte: for try await byte in bytes { sum &+= Int(byte) }
        case .line: for try await line in bytes.lines { sum &+= line.utf8.count }
        case .character: for try await _ in bytes.characters { sum &+= 1 }
        case .scalar: for try await scalar in bytes.unicodeScalars { sum &+= Int(scalar.value) }
        }
        result = sum
    }

    private actor Reader {
        func take(_ bytes: URLSession.AsyncBytes, _ element: Element) async throws {
            var sum = 0
            switch element {
            case .byte: for try await byte in bytes { sum &+= Int(byte) }
            case .line: for try await line in bytes.lines { sum &+= line.utf8.count }
            case .character: for try await _ in bytes.characters { sum &+= 1 }
            case .scalar: for try await scalar in bytes.unicodeScalars { sum &+= Int(scalar.value) }
            }
            result = sum
        }
    }
}

/// Keeps the sums from being optimized away.
nonisolated(unsafe) private var result = 0
