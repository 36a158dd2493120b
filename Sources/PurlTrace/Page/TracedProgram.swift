import Foundation
import Purl

/// The source of the program that a trace is of. A page shows it beside the trace, with the lines that an event belongs to.
///
/// A method of the delegate is found by its name, and a line that makes, resumes, suspends or cancels a task by the method that
/// it calls. Where several lines could be the one, all of them are shown, and marked as such.
///
/// ```swift
/// var page = HTMLTrace(trace, title: "A film")
/// page.program = TracedProgram([.init(name: "FilmDelegate.swift", text: source)])
/// ```
public struct TracedProgram: Sendable, Hashable {
    /// A file of the program, or a part of one.
    public struct File: Sendable, Hashable {
        /// What is shown above the lines.
        public var name: String
        /// The source.
        public var text: String
        /// The number of the first line.
        public var firstLine: Int

        /// A file.
        ///
        /// - Parameters:
        ///   - name: What is shown above the lines.
        ///   - text: The source, laid out as `swift format` does it: a method ends with a brace as far to the left as its first line.
        ///   - firstLine: The number of the first line.
        public init(name: String, text: String, firstLine: Int = 1) {
            self.name = name
            self.text = text
            self.firstLine = firstLine
        }
    }

    /// The files, in the order in which they are shown.
    public var files: [File]

    /// A program.
    ///
    /// - Parameter files: Its files, in the order in which they are shown.
    public init(_ files: [File]) {
        self.files = files
    }
}

/// The lines of a program that events belong to.
struct ProgramPlaces {
    /// Lines of a file, counted from 0.
    struct Place: Encodable, Hashable {
        let file: Int
        let lines: ClosedRange<Int>

        func encode(to encoder: any Encoder) throws {
            try [file, lines.lowerBound, lines.upperBound].encode(to: encoder)
        }
    }

    private struct Function {
        let signature: String
        let place: Place
    }

    private let files: [[String]]
    private let functions: [Function]
    /// The tasks that continue what earlier ones have begun.
    private let resumedTasks: Set<Int>
    /// Where each task was made, as far as that is known.
    private var made: [Int: Place] = [:]

    init(_ program: TracedProgram, _ events: [TransferTrace.Event]) {
        let files = program.files.map { $0.text.components(separatedBy: "\n") }
        self.files = files
        functions = files.indices.flatMap { file in Self.functions(of: files[file], file) }
        resumedTasks = Set(
            events.compactMap { event in
                switch event.kind {
                case .began(let call) where call.method == .didResumeAtOffset: event.task
                case .storing(let offset) where offset > 0: event.task
                default: nil
                }
            })
    }

    /// The lines of an event: those of a method, or every line that may be the one.
    mutating func places(of event: TransferTrace.Event) -> [Place] {
        switch event.kind {
        case .made:
            let found = lines(Self.makingTasks)
            let isResumed = event.task.map(resumedTasks.contains) ?? false
            let fitting = found.filter { text(of: $0).contains("withResumeData") == isResumed }
            let places = fitting.isEmpty ? found : fitting
            if let task = event.task, places.count == 1 { made[task] = places[0] }
            return places
        case .call(let call):
            let found = lines([Self.pattern(of: call)])
            // What is made and resumed in two lines of one method.
            guard case .resume = call, let made = event.task.flatMap({ made[$0] }) else { return found }
            let near = found.filter {
                $0.file == made.file && (0...3).contains($0.lines.lowerBound - made.lines.lowerBound)
            }
            return near.isEmpty ? found : near
        case .began(let call), .ended(let call): return methods(call.method)
        case .answer(let method):
            return methods(method).flatMap { place in
                lines(["completionHandler("]).filter {
                    $0.file == place.file && place.lines.contains($0.lines.lowerBound)
                }
            }
        default: return []
        }
    }

    private func methods(_ method: TransferTrace.DelegateMethod) -> [Place] {
        switch method {
        case .resumeDataHandler: blocks(from: ["byProducingResumeData"])
        case .completionHandler: blocks(from: Self.makingTasks).filter { $0.lines.count > 1 }
        case .continuation:
            lines(["await "]).filter { place in Self.awaiting.contains { text(of: place).contains($0) } }
        case .didReceiveResponse, .didReceiveChallenge, .didReceiveData, .didComplete, .didFinishDownloading,
            .didFinishCollecting, .willPerformHTTPRedirection, .needNewBodyStream, .needNewBodyStreamFrom,
            .willBeginDelayedRequest, .willCacheResponse, .taskIsWaitingForConnectivity, .willRestartUpload,
            .didReceiveInformationalResponse, .didSendBodyData, .didWriteData, .didResumeAtOffset, .didBecome,
            .didOpenWithProtocol, .didCloseWith, .readClosedFor, .writeClosedFor:
            functions.filter { $0.signature.contains(Self.pattern(of: method)) }.map(\.place)
        }
    }

    // MARK: Lines

    private func text(of place: Place) -> String { files[place.file][place.lines.lowerBound] }

    /// The lines of code that contain one of some texts.
    private func lines(_ patterns: [String]) -> [Place] {
        files.indices.flatMap { file in
            files[file].indices.compactMap { line in
                let text = files[file][line]
                guard patterns.contains(where: text.contains), !text.contains("func ") || text.hasSuffix("}"),
                    !text.drop(while: { $0 == " " }).hasPrefix("//")
                else { return nil }
                return Place(file: file, lines: line...line)
            }
        }
    }

    /// Those lines, each with the block that it begins.
    private func blocks(from patterns: [String]) -> [Place] {
        lines(patterns).map { place in
            let start = place.lines.lowerBound
            guard !["{", "in"].allSatisfy({ !text(of: place).hasSuffix($0) }) else { return place }
            return Place(file: place.file, lines: start...Self.end(of: start, in: files[place.file]))
        }
    }

    /// The line of the brace that ends what a line begins.
    private static func end(of start: Int, in lines: [String]) -> Int {
        let indentation = lines[start].prefix { $0 == " " }
        let end = lines[start...].dropFirst().firstIndex { line in
            line.hasPrefix(indentation + "}") && !line.hasSuffix("{")
        }
        return end ?? start
    }

    private static func functions(of lines: [String], _ file: Int) -> [Function] {
        lines.indices.filter { lines[$0].contains("func ") && !lines[$0].contains("//") }.compactMap { start in
            guard let head = lines[start...].firstIndex(where: { $0.hasSuffix("{") || $0.hasSuffix("}") }) else {
                return nil
            }
            let brace = lines[start].prefix { $0 == " " } + "}"
            let end = lines[head].hasSuffix("}") ? head : lines[head...].firstIndex { $0 == brace }
            return Function(
                signature: lines[start...head].joined(separator: "\n"),
                place: Place(file: file, lines: start...(end ?? head)))
        }
    }

    // MARK: Names

    private static let makingTasks = [
        "dataTask(with", "downloadTask(with", "uploadTask(with", "streamTask(with", "webSocketTask(with",
    ]
    private static let awaiting = [".data(", ".download(", ".upload(", ".bytes("]

    private static func pattern(of call: TransferTrace.TaskCall) -> String {
        switch call {
        case .resume: ".resume()"
        case .suspend: ".suspend()"
        case .cancel: ".cancel()"
        case .cancelByProducingResumeData: "byProducingResumeData"
        case .cancelWithReason: ".cancel(with:"
        }
    }

    /// What the declaration of a delegate's method has, and no other's.
    private static func pattern(of method: TransferTrace.DelegateMethod) -> String {
        switch method {
        case .didReceiveResponse: "didReceive response:"
        case .didReceiveChallenge: "didReceive challenge:"
        case .didReceiveData: "didReceive data:"
        case .didComplete: "didCompleteWithError"
        case .didFinishDownloading: "didFinishDownloadingTo"
        case .didFinishCollecting: "didFinishCollecting metrics"
        case .willPerformHTTPRedirection, .needNewBodyStream, .needNewBodyStreamFrom, .willBeginDelayedRequest,
            .willCacheResponse, .taskIsWaitingForConnectivity, .willRestartUpload, .didReceiveInformationalResponse,
            .didSendBodyData, .didWriteData, .didResumeAtOffset, .didBecome, .didOpenWithProtocol, .didCloseWith,
            .readClosedFor, .writeClosedFor, .resumeDataHandler, .completionHandler, .continuation:
            method.rawValue
        }
    }
}
