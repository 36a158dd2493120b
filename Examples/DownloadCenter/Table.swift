import ExampleStage
import Foundation

/// The small screen: a line for each row, drawn over itself on a terminal.
@MainActor
final class Table {
    private let center: DownloadCenter
    private let screen: Screen
    private let isTerminal = isatty(STDOUT_FILENO) == 1
    private var drawnLines = 0
    private var isDrawing = false

    init(_ center: DownloadCenter, on screen: Screen) {
        self.center = center
        self.screen = screen
    }

    /// Brings a terminal up to date, at most ten times a second. Any other output would be flooded.
    func update() {
        guard isTerminal, !isDrawing else { return }
        isDrawing = true
        DispatchQueue.main.asyncAfter(deadline: .now() + 0.1) {
            MainActor.assumeIsolated {
                self.isDrawing = false
                self.drawOver()
            }
        }
    }

    /// Somebody has typed a line: it stays, and the table comes below it.
    func leave() { drawnLines = 0 }

    /// Prints the rows once.
    func draw() {
        for line in lines { screen.say(line) }
    }

    private func drawOver() {
        // Up to where the table begins; everything below is erased and written anew.
        if drawnLines > 0 { screen.write("\u{1B}[\(drawnLines)A\u{1B}[J") }
        draw()
        drawnLines = center.rows.count
    }

    private var lines: [String] {
        center.rows.enumerated().map { number, row in
            let bar = Self.bar(row.received, of: row.total)
            return "  \(number + 1)  \(bar)  \(row.state.kind.rawValue.padded(to: 11))  \(row.name)"
        }
    }

    private static func bar(_ received: Int64, of total: Int64?) -> String {
        guard let total, total > 0 else { return "[          ]      " }
        let tenths = Int(received * 10 / total)
        let percent = "\(received * 100 / total) %"
        return "[" + String(repeating: "=", count: tenths).padded(to: 10) + "] " + percent.padded(to: 5)
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
