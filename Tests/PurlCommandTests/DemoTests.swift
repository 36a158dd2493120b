import Testing

@Suite("purl demo", .timeLimit(.minutes(5)))
struct DemoTests {
    @Test("resumes twice, and the file has the server's digest")
    func demo() async throws {
        let (code, lines) = try await PurlProcess.run(["demo"], in: TemporaryFolder())
        #expect(code == 0)
        #expect(lines.contains("   Resuming at byte 25165824."))
        #expect(lines.last == "The digests match.")
    }
}
