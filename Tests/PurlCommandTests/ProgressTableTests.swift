import Testing

@testable import PurlCommand

@Suite("The progress of several downloads")
struct ProgressTableTests {
    static let rows = [
        ProgressTable.Row(
            name: "film.mkv",
            state: .progress(TransferProgress(received: 100_000_000, total: 200_000_000, bytesPerSecond: 25_000_000))),
        ProgressTable.Row(name: "a.iso", state: .progress(TransferProgress(received: 5_000_000))),
        ProgressTable.Row(name: "text", state: .remark("retrying in 4 s")),
    ]
    static let summary = BatchProgress(
        count: 5, complete: 1, failed: 0, downloading: [0.5, 0, 0], bytesPerSecond: 25_000_000)

    private func lines(_ width: Int, _ height: Int) -> [String] {
        ProgressTable.lines(Self.rows, summary: Self.summary, size: TerminalSize(width: width, height: height))
            .map(\.text)
    }

    @Test(
        "has a line for each download, and one for all, at every width",
        arguments: [
            (
                40,
                [
                    "film.mkv    50% [=========>         ]", "a.iso      5.00 MB", "text       retrying in 4 s",
                    "all files   30% [===>       ]  1 of 5",
                ]
            ),
            (
                60,
                [
                    "film.mkv    50% [=====>    ]  100 MB of 200 MB  25.0 MB/s", "a.iso      5.00 MB",
                    "text       retrying in 4 s", "all files   30% [===>       ]  1 of 5 complete  25.0 MB/s",
                ]
            ),
            (
                80,
                [
                    "film.mkv    50% [=========>         ]  100 MB of 200 MB  25.0 MB/s  0:04 left",
                    "a.iso      5.00 MB", "text       retrying in 4 s",
                    "all files   30% [=========>                     ]  1 of 5 complete  25.0 MB/s",
                ]
            ),
            (
                120,
                [
                    "film.mkv    50% [====================>                   ]  100 MB of 200 MB  25.0 MB/s  0:04 left",
                    "a.iso      5.00 MB", "text       retrying in 4 s",
                    "all files   30% [============>                           ]  1 of 5 complete, 3 downloading, 1 waiting  25.0 MB/s",
                ]
            ),
        ])
    func widths(width: Int, expected: [String]) {
        #expect(lines(width, 24) == expected)
        #expect(lines(200, 24) == lines(120, 24))
    }

    @Test("counts the downloads without a line in a low terminal, and leaves a row for messages")
    func low() {
        #expect(lines(40, 5).count == 4)
        let all = "all files   30% [===>       ]  1 of 5"
        #expect(lines(40, 4) == ["film.mkv    50% [=========>         ]", "… and 2 more", all])
        #expect(lines(40, 3) == [all])
        #expect(lines(40, 1) == [all])
    }

    @Test("never takes more room than there is", arguments: 1...100)
    func everySize(width: Int) {
        let long =
            Self.rows + [
                ProgressTable.Row(name: String(repeating: "映画", count: 50), state: .remark("waiting for the server"))
            ]
        for height in 2...8 {
            let lines = ProgressTable.lines(
                long, summary: Self.summary, size: TerminalSize(width: width, height: height))
            #expect(lines.count < height)
            #expect(lines.allSatisfy { $0.columns < width })
        }
    }

    @Test(
        "is summed up during the downloads, each of which counts the same",
        arguments: [
            (
                BatchProgress(count: 7, complete: 0, failed: 0, downloading: [0.5, 0, 0, 0.25], bytesPerSecond: 0), 10,
                ["0 of 7 complete, 4 downloading, 3 waiting", "0 of 7 complete", "0 of 7 complete", "0 of 7"]
            ),
            (
                BatchProgress(count: 7, complete: 5, failed: 1, downloading: [0.999], bytesPerSecond: 25_000_000), 99,
                [
                    "5 of 7 complete, 1 failed, 1 downloading  25.0 MB/s", "5 of 7 complete, 1 failed  25.0 MB/s",
                    "5 of 7 complete, 1 failed", "5 of 7",
                ]
            ),
            (
                BatchProgress(count: 2, complete: 2, failed: 0, downloading: [], bytesPerSecond: 0), 100,
                ["2 of 2 complete", "2 of 2 complete", "2 of 2 complete", "2 of 2"]
            ),
        ])
    func running(progress: BatchProgress, percent: Int, texts: [String]) {
        #expect(progress.percent == percent)
        #expect(progress.texts == texts)
    }

    @Test("has a green bar, and remarks in yellow")
    func colours() {
        let lines = ProgressTable.lines(Self.rows, summary: Self.summary, size: TerminalSize(width: 40, height: 24))
        #expect(lines[0].written(inColour: true) == "film.mkv    50% [\u{1B}[32m=========>\u{1B}[39m         ]")
        #expect(lines[2].written(inColour: true) == "text       \u{1B}[33mretrying in 4 s\u{1B}[39m")
        #expect(lines.allSatisfy { $0.written(inColour: false) == $0.text })
    }

    @Test(
        "is summed up at the end, and the worst outcome decides the exit code",
        arguments: [
            (
                [.complete(bytes: 4_000_000, new: 4_000_000), .complete(bytes: 2_000_000, new: 1_000_000)], .success,
                "2 files complete, 6.00 MB, 5.00 MB of it now in 2.0 s (2.50 MB/s)"
            ),
            (
                [.complete(bytes: 4_000_000, new: 4_000_000), .httpError], .httpError,
                "1 of 2 files complete, 4.00 MB in 2.0 s (2.00 MB/s); 1 failed"
            ),
            ([.httpError, .failed], .failure, "0 of 2 files complete; 2 failed"),
            (
                [.failed, .interrupted, .notBegun], .interrupted,
                "Interrupted: 0 of 3 files complete; 1 failed; the same command resumes"
            ),
        ] as [([DownloadOutcome], ExitCode, String)])
    func closing(outcomes: [DownloadOutcome], code: ExitCode, sentence: String) {
        #expect(ExitCode(outcomes) == code)
        #expect(BatchText.closing(outcomes, in: .seconds(2)) == sentence)
    }

    @Test(
        "has a delay in seconds, from a minute on in minutes",
        arguments: [(0, "0 s"), (1049, "1 s"), (59_000, "59 s"), (600_000, "10:00")])
    func waiting(milliseconds: Int, text: String) {
        #expect(TimeText.wait(.milliseconds(milliseconds)) == text)
    }
}
