import Foundation
import Purl
import Synchronization

/// Which calls were made, which tasks have not completed, and what went wrong.
final class Ledger: Sendable {
    /// One task, from its creation to its completion.
    final class Ticket: Sendable {
        fileprivate let number: Int
        fileprivate let kind: String

        fileprivate init(_ number: Int, _ kind: String) {
            self.number = number
            self.kind = kind
        }
    }

    /// A task of a session, by numbers that are never reused.
    struct Key: Hashable, Sendable {
        let session: Int
        let task: Int
    }

    private struct Entry {
        let kind: String
        var task: URLSessionTask?
        var key: Key?

        var hasHandler: Bool { kind.hasSuffix("handler") }
    }

    /// An object that has to be released.
    private struct Trace {
        weak var object: (any AnyObject & Sendable)?
        let name: String
    }

    private struct Books {
        var calls: [String: Int] = [:]
        /// Calls made from within a delegate's.
        var inside = 0
        var started: [String: Int] = [:]
        var outcomes: [String: Int] = [:]
        var lastTicket = 0
        var open: [Int: Entry] = [:]
        var tickets: [Key: Int] = [:]
        /// Tasks whose last call has been made.
        var over: Set<Key> = []
        /// Sessions whose delegate has received `didBecomeInvalid`.
        var invalid: Set<Int> = []
        /// Tasks of sessions that were invalid already: they finish, and their delegate may be gone.
        var refused: [URLSessionTask] = []
        /// Calls that have not been answered.
        var questions: [String: Int] = [:]
        var sessions = 0
        var traces: [Trace] = []
        var violations: [String: Int] = [:]
    }

    private let books = Mutex(Books())

    // MARK: Calls

    func count(_ calls: [String: Int]) {
        books.withLock { $0.calls.merge(calls, uniquingKeysWith: +) }
    }

    func countInside() { books.withLock { $0.inside += 1 } }

    func note(_ violation: String) {
        books.withLock { $0.violations[violation, default: 0] += 1 }
    }

    func check(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { note(violation()) }
    }

    // MARK: Tasks

    /// Adds a task that is about to be created.
    func begin(_ kind: String) -> Ticket {
        books.withLock { books in
            books.lastTicket += 1
            books.started[kind, default: 0] += 1
            books.open[books.lastTicket] = Entry(kind: kind)
            return Ticket(books.lastTicket, kind)
        }
    }

    /// Sets a ticket's task. Its delegate may have received its completion already, or its session's invalidation.
    func bind(_ ticket: Ticket, to task: URLSessionTask, _ key: Key) {
        let (isOver, isRefused) = books.withLock { books in
            guard books.open[ticket.number] != nil else { return (false, false) }
            books.traces.append(Trace(object: task, name: books.open[ticket.number]?.kind ?? ""))
            books.open[ticket.number]?.task = task
            books.open[ticket.number]?.key = key
            books.tickets[key] = ticket.number
            return (books.over.contains(key), books.invalid.contains(key.session))
        }
        if isOver { end(ticket, "early") } else if isRefused { refuse(key.session) }
    }

    /// Records a task's completion.
    func end(_ ticket: Ticket, _ outcome: String) {
        let isFirst = books.withLock { books in
            guard let entry = books.open.removeValue(forKey: ticket.number) else { return false }
            if let key = entry.key { books.tickets[key] = nil }
            books.outcomes[outcome, default: 0] += 1
            return true
        }
        check(isFirst, "completed twice: \(ticket.kind)")
    }

    /// The delegate has received a task's `didComplete`.
    func end(_ key: Key, _ outcome: String) {
        let isFirst = books.withLock { books in
            guard books.over.insert(key).inserted else { return false }
            if let number = books.tickets.removeValue(forKey: key) {
                books.open[number] = nil
                books.outcomes[outcome, default: 0] += 1
            }
            return true
        }
        check(isFirst, "the delegate received a task's end twice")
    }

    /// The delegate has received a call for a task.
    func receive(_ call: String, of key: Key) {
        let isOver = books.withLock { $0.over.contains(key) }
        check(!isOver, "\(call) after the last call")
    }

    /// Their session is invalid. They have to finish all the same; a handler is called, a delegate need not be.
    private func refuse(_ session: Int) {
        let tasks = books.withLock { books in
            let entries = books.open.filter { $0.value.key?.session == session }
            for (number, entry) in entries where !entry.hasHandler {
                books.open[number] = nil
                if let key = entry.key { books.tickets[key] = nil }
                books.outcomes["refused", default: 0] += 1
                books.refused += [entry.task].compactMap(\.self)
            }
            return entries.values.compactMap(\.task)
        }
        for task in tasks { task.cancel() }
        forgetEndedRefused()
    }

    /// Drops completed tasks, which would add up otherwise.
    private func forgetEndedRefused() {
        let old = books.withLock { books in
            defer { books.refused.removeAll { $0.state == .completed } }
            return books.refused
        }
        // The tasks are released outside the lock.
        withExtendedLifetime(old) {}
    }

    /// How many tasks have not completed.
    var openCount: Int { books.withLock { $0.open.count } }

    /// The tasks that have not completed, by kind and state.
    var openTasks: [String] {
        books.withLock { books in books.open.values.map { "\($0.kind), \($0.task.map { "\($0)" } ?? "not known")" } }
    }

    var refusedTasks: [URLSessionTask] { books.withLock { $0.refused } }

    /// Releases all tasks.
    func letGo() {
        books.withLock { books in
            books.refused = []
            books.open = [:]
        }
    }

    // MARK: Questions

    /// Adds a call that has to be answered exactly once.
    func ask(_ name: String) -> Question {
        books.withLock { $0.questions[name, default: 0] += 1 }
        return Question(name, self)
    }

    func answered(_ name: String) {
        books.withLock { $0.questions[name, default: 0] -= 1 }
    }

    /// How many calls have no answer yet, by name.
    var openQuestions: [String: Int] { books.withLock { $0.questions.filter { $0.value != 0 } } }

    // MARK: Sessions

    /// Counts a session that is about to be created.
    func beginSession() { books.withLock { $0.sessions += 1 } }

    /// Follows a session until it is released.
    func follow(_ session: URLSession) {
        books.withLock { books in
            books.traces.removeAll { $0.object == nil }
            books.traces.append(Trace(object: session, name: "session"))
        }
    }

    /// Sessions and tasks that have not been released, by kind.
    var remains: [String] {
        books.withLock { books in books.traces.filter { $0.object != nil }.map(\.name) }
    }

    /// A session's delegate has received `didBecomeInvalid`. A task of it that is made from now on is refused, too.
    func end(session: Int) {
        let isFirst = books.withLock { $0.invalid.insert(session).inserted }
        check(isFirst, "the delegate received a session's end twice")
        refuse(session)
    }

    var openSessions: Int { books.withLock { $0.sessions - $0.invalid.count } }

    // MARK: Summary

    var violations: [String: Int] { books.withLock { $0.violations } }

    /// What happened, as lines.
    var summary: [String] {
        let (calls, started, outcomes) = books.withLock { ($0.calls, $0.started, $0.outcomes) }
        let (inside, sessions) = books.withLock { ($0.inside, $0.sessions) }
        return ["calls", "tasks", "ends"].enumerated().flatMap { number, title in
            let counts = [calls, started, outcomes][number]
            let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            return ["\(counts.values.reduce(0, +)) \(title):"] + Self.wrapped(sorted.map { "\($0.value) × \($0.key)" })
        } + ["\(inside) calls from within a delegate's, \(sessions) sessions"]
    }

    /// Words in lines of about a hundred characters.
    private static func wrapped(_ words: [String]) -> [String] {
        words.reduce(into: [String]()) { lines, word in
            if let last = lines.last, last.count + word.count < 110 {
                lines[lines.count - 1] += ", " + word
            } else {
                lines.append("  " + word)
            }
        }
    }
}

/// A call that has to be answered, once.
final class Question: Sendable {
    private let name: String
    private let ledger: Ledger
    private let isAnswered = Mutex(false)

    init(_ name: String, _ ledger: Ledger) {
        self.name = name
        self.ledger = ledger
    }

    func answer() {
        let isFirst = isAnswered.withLock { isAnswered in
            defer { isAnswered = true }
            return !isAnswered
        }
        if isFirst { ledger.answered(name) } else { ledger.note("\(name) was answered twice") }
    }
}
