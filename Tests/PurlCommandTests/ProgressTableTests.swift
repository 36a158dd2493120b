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
    static let summary = "1 of 5 complete, 3 downloading, 1 waiting  25.0 MB/s"

    private func lines(_ width: Int, _ height: Int) -> [String] {
        ProgressTable.lines(Self.rows, summary: Self.summary, size: TerminalSize(width: width, height: height))
    }

    @Test("has a line for each download, and a summary")
    func whole() {
        #expect(
            lines(80, 24) == [
                "film.mkv   50% [==========>         ]  100 MB of 200 MB  25.0 MB/s  0:04 left",
                "a.iso     5.00 MB",
                "text      retrying in 4 s",
                Self.summary,
            ])
    }

    @Test("omits details in a narrow terminal")
    func narrow() {
        #expect(
            lines(40, 24) == [
                "film.mkv   50%  100 MB of 200 MB", "a.iso     5.00 MB", "text      retrying in 4 s",
                "1 of 5 complete, 3 downloading, 1 wai",
            ])
        #expect(lines(20, 24) == ["film.mkv   50%", "a.iso     5.00 MB", "text      retryin", "1 of 5 complete, "])
    }

    @Test("counts the downloads without a line in a low terminal, and leaves a row for messages")
    func low() {
        #expect(lines(40, 5).count == 4)
        #expect(
            lines(40, 4) == [
                "film.mkv   50%  100 MB of 200 MB", "… and 2 more", "1 of 5 complete, 3 downloading, 1 wai",
            ])
        #expect(lines(40, 3) == ["1 of 5 complete, 3 downloading, 1 wai"])
        #expect(lines(40, 1) == ["1 of 5 complete, 3 downloading, 1 wai"])
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
            #expect(lines.allSatisfy { DisplayText.columns($0) < width })
        }
    }

    @Test(
        "is summed up during the downloads",
        arguments: [
            (0, 0, 4, 7, 0, "0 of 7 complete, 4 downloading, 3 waiting"),
            (5, 1, 1, 7, 25_000_000, "5 of 7 complete, 1 failed, 1 downloading  25.0 MB/s"),
            (7, 0, 0, 7, 0, "7 of 7 complete"),
        ] as [(Int, Int, Int, Int, Double, String)])
    func running(complete: Int, failed: Int, downloading: Int, count: Int, rate: Double, text: String) {
        #expect(
            BatchText.progress(
                complete: complete, failed: failed, downloading: downloading, of: count, bytesPerSecond: rate)
                == text)
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
