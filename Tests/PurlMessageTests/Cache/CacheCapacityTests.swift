import Foundation
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The capacities of a cache")
struct CacheCapacityTests {
    private let home = CacheHome()

    /// The memory that one response of 1000 bytes takes.
    private var cost: Int { serverResponse("a", size: 1000).cost }

    @Test("The response that was not used for the longest time is removed from a full memory")
    func memory() throws {
        let cache = home.cache(memory: 20 * cost, disk: 0)
        let names = (0..<20).map { "\($0)x" }
        for name in names { cache.put(name, size: 999 + (name.count == 2 ? 0 : 0)) }
        #expect(names.allSatisfy { cache.has($0) })
        #expect(cache.has("0x"))
        cache.put("new", size: 1000)
        #expect(!cache.has("1x"))
        #expect(cache.has("0x") && cache.has("new"))
        #expect(cache.currentMemoryUsage <= 20 * cost)
    }

    @Test("The response that was not used for the longest time is removed from a full disk")
    func disk() throws {
        let cache = home.cache(memory: 0, disk: 60_000)
        let names = (0..<60).map { "\($0)" }
        for name in names {
            cache.put(name, size: 1500)
            #expect(cache.currentDiskUsage <= 60_000)
            #expect(cache.has("0"))
        }
        cache.store.flush()
        #expect(cache.currentDiskUsage <= 60_000)
        #expect(cache.has("0") && cache.has("59") && !cache.has("1"))
        cache.store.flush()
        let next = home.cache(memory: 0, disk: 60_000)
        #expect(next.currentDiskUsage == cache.currentDiskUsage)
        #expect(names.filter { next.has($0) } == names.filter { cache.has($0) })
    }

    static let sizes: [(memory: Int, disk: Int, size: Int, isKept: Bool)] = [
        // 5 % of the disk capacity, head included.
        (0, 100_000, 4_500, true),
        (0, 100_000, 5_000, false),
        (1 << 20, 100_000, 5_000, false),
        // Of the memory capacity where there is no disk.
        (100_000, 0, 4_500, true),
        (100_000, 0, 5_000, false),
        (0, 0, 0, false),
        (-1, -1, 0, false),
        // A response that fits the disk need not fit the memory.
        (1_000, 100_000, 4_500, true),
    ]

    @Test("A response of more than 5 % of the capacity is not stored", arguments: sizes)
    func share(memory: Int, disk: Int, size: Int, isKept: Bool) throws {
        let cache = home.cache(memory: memory, disk: disk)
        cache.put("a", size: size)
        #expect(cache.has("a") == isKept)
        cache.store.flush()
        #expect(cache.has("a") == isKept)
        #expect(home.fileNames.count == (isKept && disk > 0 ? 1 : 0))
    }

    @Test("A response that has become too large removes its stored predecessor")
    func outgrown() throws {
        let cache = home.cache(memory: 0, disk: 100_000)
        cache.put("a", size: 10)
        cache.put("a", size: 10_000)
        #expect(!cache.has("a"))
    }

    @Test("Smaller capacities remove responses at once")
    func shrinking() throws {
        let cache = home.cache(memory: 1 << 20, disk: 1 << 20)
        cache.put("a", "b", "c", "d")
        cache.store.flush()
        let (memory, disk) = (cache.currentMemoryUsage, cache.currentDiskUsage)
        cache.memoryCapacity = memory / 2
        #expect(cache.currentMemoryUsage == memory / 2)
        #expect(cache.names("a", "b", "c", "d") == ["a", "b", "c", "d"])
        cache.diskCapacity = disk / 2
        #expect(cache.currentDiskUsage <= disk / 2)
        cache.memoryCapacity = 0
        #expect(cache.names("a", "b", "c", "d").count == 2)
        cache.store.flush()
        #expect(home.fileNames.count == 2)
        cache.diskCapacity = 0
        #expect(cache.names("a", "b", "c", "d") == [])
        cache.store.flush()
        #expect(home.fileNames == [])
        #expect((cache.memoryCapacity, cache.diskCapacity) == (0, 0))
    }

    @Test("A cache can be used from many threads at once")
    func threads() async throws {
        let cache = home.cache(memory: 20_000, disk: 40_000)
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for turn in 0..<60 {
                        let name = "\((worker * 7 + turn) % 40)"
                        switch turn % 5 {
                        case 0, 1: cache.put(name, size: 500 + turn)
                        case 2: cache.removeCachedResponse(for: URLRequest(url: cacheURL(name)))
                        case 3: cache.store.flush()
                        default:
                            let found = cache.cachedResponse(for: URLRequest(url: cacheURL(name)))
                            #expect(found.map { $0.response.url == cacheURL(name) } ?? true)
                        }
                    }
                }
            }
        }
        cache.store.flush()
        cache.store.flush()
        #expect(cache.currentDiskUsage <= 40_000)
        #expect(cache.currentMemoryUsage <= 20_000)
        let next = home.cache(memory: 0, disk: 40_000)
        #expect(next.currentDiskUsage == cache.currentDiskUsage)
        for name in (0..<40).map({ "\($0)" }) { #expect(next.has(name) == cache.has(name)) }
    }
}

@Suite("The order of use")
struct UseOrderTests {
    @Test("The oldest entry is the one that was not used since")
    func order() {
        var order = RecencyList<Int>()
        #expect(order.oldest == nil)
        for element in [1, 2, 3, 1, 4, 2] { order.touch(element) }
        var gone: [Int] = []
        while let oldest = order.oldest {
            gone.append(oldest)
            order.remove(oldest)
        }
        #expect(gone == [3, 1, 4, 2])
        order.remove(9)
        order.touch(5)
        order.touch(5)
        #expect(order.oldest == 5)
    }
}
