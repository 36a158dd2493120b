import ExampleStage
import Foundation

/// A line for each row, redrawn in place on a terminal.
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

    /// Redraws the table, at most ten times a second. Only on a terminal.
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

    /// Leaves the table where it is, below which a line has been typed; the next one is drawn below.
    func leave() { drawnLines = 0 }

    /// Prints the rows once.
    func draw() {
        for line in lines { screen.print(line) }
    }

    private func drawOver() {
        // Moves to the first line of the table and erases it.
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
