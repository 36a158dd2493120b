import Foundation
import Testing

@testable import Purl
@testable import PurlDownloads

/// The plan and its journal over bytes in memory, as ``RangedFile`` uses them over a file: each write is followed by the
/// first page, each new part is recorded before its first byte, and the second page follows a synchronisation.
private struct CrashingFile {
    private enum Write {
        case bytes([UInt8], at: Int)
        case page(RangeJournal.Page, [UInt8])
    }

    private struct Disk {
        var bytes: [UInt8]
        var pages: [RangeJournal.Page: [UInt8]] = [:]

        mutating func take(_ write: Write) {
            switch write {
            case .bytes(let new, let offset): bytes.replaceSubrange(offset..<offset + new.count, with: new)
            case .page(let page, let content): pages[page] = content
            }
        }
    }

    /// The most bytes of one write.
    static let step = 16
    private static let version = RangeJournal.Version(validator: "\"v1\"")

    let content: [UInt8]
    private(set) var plan: RangePlan
    private var isClean = true
    private var boot = 0
    /// What the kernel has.
    private var cache: Disk
    /// What survives a loss of power.
    private var disk: Disk
    /// What has been written since, in order.
    private var pending: [Write] = []

    init(content: [UInt8], connections: Int) {
        self.content = content
        plan = RangePlan(total: Int64(content.count), share: Int64(Self.step))
        disk = Disk(bytes: [UInt8](repeating: 0, count: content.count))
        cache = disk
        plan.spread(over: connections)
        save(.written)
    }

    var present: [Range<Int64>] { plan.present }
    var isComplete: Bool { plan.isComplete }
    var bytes: [UInt8] { cache.bytes }

    private var total: Int64 { Int64(content.count) }

    private mutating func write(_ write: Write) {
        cache.take(write)
        pending.append(write)
    }

    private var journal: RangeJournal {
        RangeJournal(total: total, version: Self.version, filled: plan.filled, isClean: isClean)
    }

    private mutating func save(_ page: RangeJournal.Page) {
        write(.page(page, journal.page(inBoot: RangeJournal.Boot("\(boot)"))))
    }

    mutating func assign(_ reader: RangePlan.Reader) -> Range<Int64>? {
        guard let range = plan.assign(reader) else { return nil }
        save(.written)
        return range
    }

    /// How far one call of ``place(_:by:until:)`` comes.
    enum Extent {
        case all
        /// Killed when so many bytes are written.
        case bytes(Int)
        /// Killed before the page is written.
        case noPage
    }

    /// Places bytes of a reader's response, whose next byte is at `position`. Returns whether the reader is over.
    mutating func place(_ count: Int, from position: Int64, by reader: RangePlan.Reader, until extent: Extent) -> Bool {
        guard let placement = plan.placement(of: count, by: reader) else { return true }
        let offset = Int(placement.offset)
        if placement.count > 0 {
            // The bytes are those of the response, not of the place that the plan names.
            let start = Int(position) + placement.skipped
            var new = Array(content[start..<start + placement.count])
            if case .bytes(let limit) = extent { new = Array(new.prefix(limit)) }
            if !new.isEmpty { write(.bytes(new, at: offset)) }
        }
        guard case .all = extent else { return true }
        let isOver = plan.place(count, by: reader)
        if isOver { plan.release(reader) }
        if placement.count > 0 { save(.written) }
        return isOver
    }

    mutating func forget(_ reader: RangePlan.Reader) { plan.forget(reader) }

    /// A piece has turned out to be wrong.
    mutating func drop(_ range: Range<Int64>) {
        plan.drop(range)
        isClean = false
        save(.written)
    }

    mutating func setRate(_ rate: Double, of reader: RangePlan.Reader) { plan.setRate(rate, of: reader) }

    /// Synchronises. Bytes may arrive between the beginning and the end: `during` places them.
    mutating func synchronize(_ during: (inout CrashingFile) -> Void) {
        let journal = journal
        during(&self)
        flush()
        write(.page(.safe, journal.page(inBoot: RangeJournal.Boot("\(boot)"))))
    }

    mutating func flush() {
        for write in pending { disk.take(write) }
        pending = []
    }

    /// The process is killed. Returns whether everything that was written counts.
    mutating func kill() -> Bool {
        recover()
        let counted = plan.present
        return !isClean
            || cache.bytes.indices.allSatisfy { index in
                cache.bytes[index] == 0 || counted.contains { $0.contains(Int64(index)) }
            }
    }

    /// Power is lost: of what was not synchronised, anything survives. Returns whether everything counts that was
    /// synchronised together with the page that says so, and that no later page, which may survive, has dropped.
    mutating func losePower(_ random: inout some RandomNumberGenerator) -> Bool {
        var later = disk
        let safe = Self.journal(.safe, of: disk, total, boot: nil)
        let laterOnes = pending.compactMap { write -> RangeJournal? in
            guard case .page(.safe, _) = write else { return nil }
            later.take(write)
            return Self.journal(.safe, of: later, total, boot: nil)
        }
        for write in pending {
            switch write {
            case .bytes(let new, let offset):
                guard Bool.random(using: &random) else { continue }
                let start = Int.random(in: 0...new.count, using: &random)
                let end = Int.random(in: start...new.count, using: &random)
                disk.take(.bytes(Array(new[start..<end]), at: offset + start))
            case .page:
                if Bool.random(using: &random) { disk.take(write) }
            }
        }
        pending = []
        boot += 1
        cache = disk
        recover()
        func isIn(_ ranges: [Range<Int64>], _ index: Int64) -> Bool { ranges.contains { $0.contains(index) } }
        let counted = plan.present
        return (safe?.present ?? []).joined().allSatisfy { index in
            isIn(counted, index) || !laterOnes.allSatisfy { isIn($0.present, index) }
        }
    }

    private static func journal(
        _ page: RangeJournal.Page, of disk: Disk, _ total: Int64, boot: RangeJournal.Boot?
    ) -> RangeJournal? {
        disk.pages[page].flatMap { RangeJournal(page: $0, total: total, version: version, boot: boot) }
    }

    private mutating func recover() {
        let written = Self.journal(.written, of: cache, total, boot: RangeJournal.Boot("\(boot)"))
        let safe = Self.journal(.safe, of: cache, total, boot: nil)
        guard let found = RangeJournal(written: written, safe: safe) else {
            // The record alone would count what is before the first part; here that is nothing, and the rest is cut.
            cache.bytes = [UInt8](repeating: 0, count: content.count)
            disk = cache
            isClean = true
            plan = RangePlan(total: total, share: Int64(Self.step))
            return save(.written)
        }
        let bytes = cache.bytes
        let journal = found.reading(upTo: Self.step) { Data(bytes[Int($0.lowerBound)..<Int($0.upperBound)]) }
        isClean = journal.isClean
        plan = RangePlan(total: total, present: journal.present, share: Int64(Self.step))
        save(.written)
    }
}

@Suite("The plan and its journal, killed and without power")
struct RangeCrashTests {
    /// How many seeds are tried: `SEEDS` in the environment, or a few.
    private static let seeds = ProcessInfo.processInfo.environment["SEEDS"].flatMap { UInt64($0) } ?? 200

    @Test("Whatever is counted is there, whenever the process is killed or power is lost")
    func crashes() throws {
        for seed in 0..<Self.seeds {
            if let failure = Self.run(seed) {
                Issue.record("Seed \(seed): \(failure)")
                return
            }
        }
    }

    private static func run(_ seed: UInt64) -> String? {
        var random = SeededGenerator(seed: seed)
        let length = Int.random(in: 1...400, using: &random)
        // Zeros are what the file has where nothing was written.
        let content = (0..<length).map { _ in
            Int.random(in: 0..<3, using: &random) == 0 ? 0 : UInt8.random(in: 1...255, using: &random)
        }
        var file = CrashingFile(content: content, connections: .random(in: 1...5, using: &random))
        var reading: [RangePlan.Reader: Range<Int64>] = [:]
        let losesPower = seed.isMultiple(of: 2)
        for _ in 0..<5000 where !file.isComplete {
            let reader = Int.random(in: 0..<5, using: &random)
            guard let rest = reading[reader] else {
                reading[reader] = file.assign(reader)
                continue
            }
            let count = Int.random(in: 1...min(CrashingFile.step, rest.count), using: &random)
            var extent = CrashingFile.Extent.all
            switch Int.random(in: 0..<40, using: &random) {
            case 0: extent = .bytes(.random(in: 0...count, using: &random))
            case 1: extent = .noPage
            case 2:
                file.forget(reader)
                reading[reader] = nil
                continue
            case 3:
                file.setRate(.random(in: 0...1e6, using: &random), of: reader)
                continue
            case 4 where losesPower:
                file.synchronize { _ in }
                continue
            case 5 where losesPower:
                let isOver = Mutable(false)
                file.synchronize { isOver.value = $0.place(count, from: rest.lowerBound, by: reader, until: .all) }
                reading[reader] = isOver.value ? nil : Self.rest(of: rest, after: count)
                continue
            case 6 where losesPower: file.flush()
            case 7 where Int.random(in: 0..<8, using: &random) == 0:
                guard let part = file.present.randomElement(using: &random) else { continue }
                let start = Int64.random(in: part, using: &random)
                file.drop(start..<min(part.upperBound, start + 20))
                continue
            default: break
            }
            let isOver = file.place(count, from: rest.lowerBound, by: reader, until: extent)
            if case .all = extent {
                reading[reader] = isOver ? nil : Self.rest(of: rest, after: count)
                if !isOver, reading[reader] == nil { return "a response ended before its part" }
                continue
            }
            reading = [:]
            if losesPower, Bool.random(using: &random) {
                if !file.losePower(&random) { return "synchronised bytes are lost" }
            } else if !file.kill() {
                return "written bytes are lost"
            }
            for range in file.present {
                for index in range where file.bytes[Int(index)] != content[Int(index)] {
                    return "byte \(index) is counted and wrong"
                }
            }
        }
        return file.isComplete && file.bytes == content ? nil : "the file is not complete or not right"
    }

    private static func rest(of range: Range<Int64>, after count: Int) -> Range<Int64>? {
        let start = range.lowerBound + Int64(count)
        return start < range.upperBound ? start..<range.upperBound : nil
    }

    /// A value that a closure changes.
    private final class Mutable<Value> {
        var value: Value

        init(_ value: Value) { self.value = value }
    }
}

/// A small generator whose sequence a seed decides.
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
