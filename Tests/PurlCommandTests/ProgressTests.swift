import Testing

@testable import PurlCommand

@Suite("Progress")
struct ProgressTests {
    static let half = TransferProgress(received: 100_000_000, total: 200_000_000, bytesPerSecond: 25_000_000)
    static let endless = TransferProgress(received: 100_000_000, bytesPerSecond: 25_000_000)

    @Test(
        "reaches 100 per cent only at the end",
        arguments: [(0, 0), (1, 0), (99, 9), (100, 10), (999, 99), (1000, 100), (1001, 100)] as [(Int64, Int)])
    func percent(received: Int64, percent: Int) {
        #expect(TransferProgress(received: received, total: 1000).percent == percent)
    }

    @Test("has a percentage for an empty file and for the largest one")
    func extremes() {
        #expect(TransferProgress(received: 0, total: 0).percent == 100)
        #expect(TransferProgress(received: .max - 1, total: .max).percent == 99)
        #expect(TransferProgress(received: 5).percent == nil)
    }

    @Test("has the time left when there is a rate")
    func timeLeft() {
        #expect(Self.half.timeLeft == .seconds(4))
        #expect(Self.endless.timeLeft == nil)
        #expect(TransferProgress(received: 0, total: 10, bytesPerSecond: 0).timeLeft == nil)
        #expect(TransferProgress(received: 10, total: 10, bytesPerSecond: 5).timeLeft == nil)
        #expect(TransferProgress(received: 0, total: .max, bytesPerSecond: 1).timeLeft == nil)
    }

    @Test(
        "fills the width of the terminal, and omits what does not fit",
        arguments: [
            (82, " 50% [================>               ]  100 MB of 200 MB  25.0 MB/s  0:04 left"),
            (62, " 50% [======>     ]  100 MB of 200 MB  25.0 MB/s  0:04 left"),
            (58, " 50% [=========>         ]  100 MB of 200 MB  25.0 MB/s"),
            (42, " 50% [=======>      ]  100 MB of 200 MB"),
            (32, " 50% [===========>          ]"),
            (16, " 50% [===>  ]"),
            (15, " 50%"),
            (12, " 50%"),
            (6, ""),
            (0, ""),
        ])
    func bar(width: Int, line: String) {
        #expect(ProgressBar.line(Self.half, width: width).text == line)
    }

    @Test("is never longer than the terminal is wide", arguments: 1...200)
    func everyWidth(width: Int) {
        for progress in [
            Self.half, Self.endless, TransferProgress(received: 0, total: 1),
            TransferProgress(received: 1, total: 1, bytesPerSecond: 1e12),
            TransferProgress(received: 999_999_999_999, total: .max, bytesPerSecond: 1),
        ] {
            #expect(ProgressBar.line(progress, width: width).columns < width)
        }
    }

    @Test("has a bar that fills up")
    func filling() {
        func bar(_ received: Int64) -> String {
            ProgressBar.line(TransferProgress(received: received, total: 1000), width: 40).text
        }
        #expect(bar(0) == "  0% [>             ]  0 B of 1.00 kB")
        #expect(bar(500) == " 50% [======>     ]  500 B of 1.00 kB")
        #expect(bar(1000) == "100% [==========]  1.00 kB of 1.00 kB")
    }

    @Test("counts bytes when the length is unknown")
    func unknownLength() {
        #expect(ProgressBar.line(Self.endless, width: 80).text == "100 MB  25.0 MB/s")
        #expect(ProgressBar.line(Self.endless, width: 12).text == "100 MB")
    }

    @Test("is a line for every 10 per cent where there is no terminal")
    func lines() {
        var lines = ProgressLines(from: TransferProgress(received: 0, total: 1000))
        let printed = stride(from: Int64(0), through: 1000, by: 50).compactMap {
            lines.line(TransferProgress(received: $0, total: 1000))
        }
        #expect(printed.count == 10)
        #expect(printed.first == "10 %  100 B of 1.00 kB")
        #expect(printed.last == "100 %  1.00 kB of 1.00 kB")
    }

    @Test("prints from where a download resumes")
    func linesOfResumption() {
        var lines = ProgressLines(from: TransferProgress(received: 450, total: 1000))
        #expect(lines.line(TransferProgress(received: 499, total: 1000)) == nil)
        #expect(lines.line(TransferProgress(received: 510, total: 1000)) == "51 %  510 B of 1.00 kB")
        #expect(lines.line(TransferProgress(received: 590, total: 1000)) == nil)
    }

    @Test("prints a line whenever the bytes have doubled, when the length is unknown")
    func linesOfUnknownLength() {
        var lines = ProgressLines(from: TransferProgress(received: 0))
        let printed = stride(from: Int64(0), through: 9_000_000, by: 500_000).compactMap {
            lines.line(TransferProgress(received: $0))
        }
        #expect(printed == ["1.00 MB", "2.00 MB", "4.00 MB", "8.00 MB"])
    }

    @Test("has a rate that is the mean of the last five seconds")
    func rate() {
        var meter = RateMeter()
        #expect(meter.bytesPerSecond == nil)
        meter.addSample(1000, at: .zero)
        meter.addSample(1100, at: .milliseconds(100))
        #expect(meter.bytesPerSecond == nil)
        for second in 1...10 { meter.addSample(1000 + Int64(second) * 100, at: .seconds(second)) }
        #expect(meter.bytesPerSecond == 100)
        for second in 11...15 { meter.addSample(2000, at: .seconds(second)) }
        #expect(meter.bytesPerSecond == 0)
    }

    @Test(
        "uses the size of the terminal, then of the environment, then 80 by 24",
        arguments: [(120, "60", 120), (0, "60", 60), (0, nil, 80), (0, "wide", 80), (0, "-1", 80)])
    func size(terminal: Int, variable: String?, length: Int) {
        #expect(TerminalSize.choose(terminal: terminal, variable: variable, otherwise: 80) == length)
    }
}
