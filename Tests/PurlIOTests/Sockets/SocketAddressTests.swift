import Testing

@testable import PurlIO

@Suite("Addresses are digits or paths")
struct SocketAddressTests {
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1", "127.0.0.1:80", SocketAddress.Family.ipv4),
        ("255.255.255.255", "255.255.255.255", "255.255.255.255:80", .ipv4),
        ("::1", "::1", "[::1]:80", .ipv6),
        ("[::1]", "::1", "[::1]:80", .ipv6),
        ("2001:DB8:0:0:0:0:0:1", "2001:db8::1", "[2001:db8::1]:80", .ipv6),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1", "[::ffff:192.0.2.1]:80", .ipv6),
        ("fe80::1%1", "fe80::1%lo", "[fe80::1%lo]:80", .ipv6),
        ("fe80::1%lo", "fe80::1%lo", "[fe80::1%lo]:80", .ipv6),
        ("[fe80::1%lo]", "fe80::1%lo", "[fe80::1%lo]:80", .ipv6),
        ("fe80::1%4000000000", "fe80::1%4000000000", "[fe80::1%4000000000]:80", .ipv6),
    ])
    func digitsAreAnAddress(literal: String, host: String, description: String, family: SocketAddress.Family) throws {
        let address = try #require(SocketAddress(literal: literal, port: 80))
        #expect(address.host == host)
        #expect(address.port == 80)
        #expect(address.family == family)
        #expect(address.description == description)
    }

    @Test(arguments: [
        "", "localhost", "127.1", "127.0.0.1.", "127.0.0.256", "0x7f.0.0.1", "1.2.3.4.5", " 127.0.0.1",
        "127.0.0.1\0.com",
        "[127.0.0.1]", "[::1", "::1]", ":", ":::", "[]", "1::2::3", "fe80::1%", "fe80::1%no such interface",
        "fe80::1%5000000000", "::1\0", "%", "127.0.0.1%lo",
    ])
    func otherTextIsNoAddress(text: String) {
        #expect(SocketAddress(literal: text, port: 1) == nil)
    }

    @Test func anAddressSurvivesTheSystemsStructure() {
        for address in [
            SocketAddress.loopback(port: 65_535), Loopback.address("2001:db8::7", 1),
            Loopback.address("fe80::1%1", 443),
        ] {
            #expect(address.withSystemAddress { SocketAddress($0, length: Int($1)) } == address)
        }
    }

    @Test func aPathHasNeitherHostNorPort() throws {
        let address = try SocketAddress(unixPath: "/tmp/a socket")
        #expect(address.host == nil)
        #expect(address.port == nil)
        #expect(address.family == .unix)
        #expect(address.description == "/tmp/a socket")
        #expect(address.withSystemAddress { SocketAddress($0, length: Int($1)) } == address)
    }

    @Test func aPathMayBeAsLongAsTheSystemAllows() throws {
        let path = "/" + String(repeating: "p", count: SocketAddress.maximumPathLength - 1)
        let address = try SocketAddress(unixPath: path)
        #expect(address.withSystemAddress { SocketAddress($0, length: Int($1)) } == address)
        #expect(throws: SystemError(code: ENAMETOOLONG, operation: "unix path")) {
            try SocketAddress(unixPath: path + "p")
        }
    }

    @Test(arguments: ["", "/tmp/\0"])
    func aPathThatIsEmptyOrHasANULIsRefused(path: String) {
        #expect(throws: SystemError(code: EINVAL, operation: "unix path")) { try SocketAddress(unixPath: path) }
    }

    @Test func thePortCanBeReplaced() throws {
        #expect(SocketAddress.loopback(port: 1).withPort(2) == .loopback(port: 2))
        #expect(Loopback.address("::1", 1).withPort(2) == Loopback.address("::1", 2))
        let path = try SocketAddress(unixPath: "/tmp/s")
        #expect(path.withPort(2) == path)
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1", true), ("::1", "::1", true), ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false), ("127.0.0.1", "::1", false),
    ])
    func addressesOfOneHostDifferInTheirPortsAlone(_ one: String, _ other: String, _ isSame: Bool) {
        #expect(Loopback.address(one, 1).isSameHost(as: Loopback.address(other, 2)) == isSame)
    }

    @Test func aPathNamesNoHost() throws {
        let path = try SocketAddress(unixPath: "/tmp/s")
        #expect(!path.isSameHost(as: path))
    }
}
