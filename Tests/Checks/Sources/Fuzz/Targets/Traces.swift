import Foundation
import Purl
import PurlTrace

extension FuzzTarget {
    /// A trace as it was saved.
    static let savedTraces = FuzzTarget("saved-traces") { bytes in
        guard let recording = try? TransferTrace.Recording(json: Data(bytes)) else { return }
        for format in TraceFormat.allCases {
            guard let data = try? format.data(of: recording) else { fail("a trace that was read has every form") }
            switch format {
            case .recording: requireSame(try? TransferTrace.Recording(json: data), recording, "it is the same again")
            case .archive: require((try? JSONSerialization.jsonObject(with: data)) != nil, "an archive is JSON")
            case .text, .diagram, .page, .capture, .trace: break
            }
        }
        let lines = TextTrace(recording).lines
        require(!lines.contains { $0.contains(where: \.isNewline) }, "an event is one line")
        let pattern = TracePattern(recording.events.map { .event($0.kind, in: $0.lane) })
        require(pattern.difference(from: recording) == nil, "its events are its pattern")
    }
}
