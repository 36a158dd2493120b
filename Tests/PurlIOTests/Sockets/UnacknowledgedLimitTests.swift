import Testing

@testable import PurlIO

@Suite("How long a connection may leave what it is sent unacknowledged")
struct UnacknowledgedLimitTests {
    @Test(
        "Probes begin at half of the time and end with it, to the second",
        arguments: [
            (.seconds(120), 60, 10, 6), (.seconds(60), 30, 5, 6), (.seconds(10), 5, 1, 5), (.seconds(3), 1, 1, 2),
            (.seconds(1), 1, 1, 1), (.milliseconds(10), 1, 1, 1), (.seconds(86_400), 43_200, 7_200, 6),
        ] as [(Duration, Int32, Int32, Int32)])
    func probes(limit: Duration, idle: Int32, interval: Int32, probes: Int32) {
        let numbers = UnacknowledgedLimit(limit)
        #expect((numbers.idle, numbers.interval, numbers.probes) == (idle, interval, probes))
        // The last probe that is due before the limit is at most a tenth of it away, where that is a whole second.
        #expect(Double(interval) <= max(1, Double(limit.components.seconds) / 10))
    }

    @Test("The time is the system's for a socket of the network, and does nothing to another")
    @NetworkActor
    func option() throws {
        let descriptor = try Platform.streamSocket(.ipv4)
        descriptor.setUnacknowledgedLimit(UnacknowledgedLimit(.seconds(60)))
        func value(_ option: Int32, _ level: Int32) -> Int32 {
            var value: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            return getsockopt(descriptor.rawValue, level, option, &value, &length) == 0 ? value : -1
        }
        #expect(value(SO_KEEPALIVE, Platform.socketLevel) != 0)
        #expect(value(Platform.keepAliveIdle, Platform.tcpLevel) == 30)
        #expect(value(TCP_KEEPINTVL, Platform.tcpLevel) == 5)
        #expect(value(Platform.userTimeout.option, Platform.tcpLevel) == 60_000 / Platform.userTimeout.unit)
        let (first, second) = try StreamSocket.pair()
        first.fail(whenUnacknowledgedFor: .seconds(1))
        #expect(first.isOpen)
        first.close()
        second.close()
    }
}
