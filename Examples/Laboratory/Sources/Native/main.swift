import Foundation

// The same readers on this machine: records on the standard input, their verdicts on the standard output.
//
//     LaboratoryVerdicts < RECORDS
//     LaboratoryVerdicts --time ROUNDS < RECORDS      how long one verdict takes, on average

let input = [UInt8](FileHandle.standardInput.readDataToEndOfFile())
let rounds = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 0
if rounds > 0 {
    let start = ContinuousClock.now
    for _ in 0..<rounds { _ = Records.verdicts(on: input) }
    print("\(rounds) rounds in \(start.duration(to: .now))")
} else {
    FileHandle.standardOutput.write(Data(Records.verdicts(on: input)))
}
