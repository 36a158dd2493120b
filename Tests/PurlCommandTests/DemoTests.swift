import Testing

@Suite("purl demo", .timeLimit(.minutes(5)))
struct DemoTests {
    @Test("resumes twice, and ends with the server's bytes")
    func demo() async throws {
        let (code, lines) = try await PurlProcess.run(["demo"], in: TemporaryFolder())
        #expect(code == 0)
        #expect(lines.contains("   Going on at byte 25165824."))
        #expect(lines.last == "They agree: the pieces fit to the byte.")
    }
}
