import Foundation
import Purl
import PurlTrace

extension FuzzTarget {
    /// A trace as it was saved.
    static let savedTraces = FuzzTarget("saved-traces") { bytes in
        guard let recording = try? TransferTrace.Recording(json: Data(bytes)) else { return }
        // Packets of very much are like those of less, and take long.
        let isLarge = recording.events.contains { $0.byteCount > 1 << 24 }
        for format in TraceFormat.allCases where format != .capture || !isLarge {
            guard let data = try? format.data(of: recording) else { fail("a trace that was read has every form") }
            switch format {
            case .recording: requireSame(try? TransferTrace.Recording(json: data), recording, "it is the same again")
            case .archive: require((try? JSONSerialization.jsonObject(with: data)) != nil, "an archive is JSON")
            case .text, .diagram, .capture, .trace: break
            }
        }
        let lines = TextTrace(recording).lines
        require(!lines.contains { $0.contains(where: \.isNewline) }, "an event is one line")
        let pattern = TracePattern(recording.events.map { .event($0.kind, in: $0.lane) })
        require(pattern.difference(from: recording) == nil, "its events are its pattern")
    }
}

extension TransferTrace.Event {
    /// How many bytes of a body it is about.
    fileprivate var byteCount: Int {
        switch kind {
        case .bodySent(let piece), .bodyReceived(let piece): piece.count
        default: 0
        }
    }
}
