import Glibc

/// The options of the command line.
struct Options {
  static let usage = """
    usage: imgd-bench [all|\(Measurement.all.map(\.name).joined(separator: "|"))]…
      siege:ATTACK         one of \(Siege.attacks.map(\.name).joined(separator: ", "))
      load:NAME            one of \(BesideLoad.cases.map(\.name).joined(separator: ", "))
      --programs DIRECTORY where imgd and the programs beside it are (default: .build/release)
      --readers N          `fleet` simulates the readers of so many hosts on one redis, and does nothing else
      --package-path PATH  the sources of imgd (default: the current directory)
      --rounds N           rounds of each comparison (default: 5)
      --quick              a smoke run: one short round, smaller crowds
      --json FILE          also write one JSON record
    """

  private(set) var measurements: [Measurement] = []
  private(set) var programs = ".build/release"
  private(set) var packagePath = "."
  private(set) var rounds = 5
  private(set) var isQuick = false
  private(set) var wantsHelp = false
  private(set) var json: String?
  /// Hosts of the simulated fleet; nil without a simulation.
  private(set) var readers: Int?

  init(_ words: [String]) throws(BenchFailure) {
    var rest = words[...]
    while let word = rest.popFirst() {
      try take(word, from: &rest)
    }
    if measurements.isEmpty { measurements = Measurement.all }
    if isQuick { rounds = 1 }
  }

  private mutating func take(
    _ word: String, from rest: inout ArraySlice<String>
  ) throws(BenchFailure) {
    switch word {
    case "--help", "-h": wantsHelp = true
    case "--quick": isQuick = true
    case "--programs": programs = try Self.value(of: word, from: &rest)
    case "--package-path": packagePath = try Self.value(of: word, from: &rest)
    case "--json": json = try Self.value(of: word, from: &rest)
    case "--rounds":
      rounds = try Self.count(Self.value(of: word, from: &rest), of: word, 1...100)
    case "--readers":
      readers = try Self.count(Self.value(of: word, from: &rest), of: word, 1...4_000)
    case "all": measurements = Measurement.all
    default: measurements.append(try Self.measurement(word))
    }
  }

  private static func value(
    of option: String, from rest: inout ArraySlice<String>
  ) throws(BenchFailure) -> String {
    guard let value = rest.popFirst() else { throw .usage("\(option) needs a value") }
    return value
  }

  private static func count(
    _ word: String, of option: String, _ range: ClosedRange<Int>
  ) throws(BenchFailure) -> Int {
    guard let count = Int(word), range.contains(count) else {
      throw .usage(
        "\(option) \(word): must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return count
  }

  private static func measurement(_ word: String) throws(BenchFailure) -> Measurement {
    let known = Measurement.all.first { $0.name == word }
    guard let found = known ?? Siege.measurement(word) ?? BesideLoad.measurement(word) else {
      throw .usage("unknown word '\(word)'\n\(usage)")
    }
    return found
  }

  /// The daemon to measure.
  var imgd: String { program("imgd") }

  /// One of the programs of imgd.
  func program(_ name: String) -> String { programs + "/" + name }

  /// This program, which also starts itself for its hidden verbs.
  static let own = File.target(ofLink: "/proc/self/exe") ?? "imgd-bench"
}
