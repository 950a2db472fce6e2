/// A page of metrics, read as strictly as the text exposition format is written (version 0.0.4).
package struct Exposition {
  package struct Sample: Equatable {
    package let name: String
    package let labels: [String: String]
    package let value: Double
  }

  package struct Family {
    package let name: String
    package let type: String
    package internal(set) var samples: [Sample] = []
  }

  package struct Problem: Error, CustomStringConvertible {
    package let description: String
  }

  package private(set) var families: [Family] = []

  /// Fails at the first thing that a strict reader would not accept.
  package init(_ text: String) throws {
    guard text.last == "\n" else { throw Problem(description: "the last line does not end") }
    var help: String?
    for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("# HELP ") {
        let words = line.split(separator: " ", maxSplits: 3)
        guard help == nil, words.count == 4 else { throw Problem(description: "\(line): HELP without TYPE") }
        help = String(words[2])
      } else if line.hasPrefix("# TYPE ") {
        let words = line.split(separator: " ")
        guard words.count == 4, String(words[2]) == help else { throw Problem(description: "\(line): no HELP before") }
        guard !families.contains(where: { $0.name == help }) else { throw Problem(description: "\(line): twice") }
        families.append(Family(name: String(words[2]), type: String(words[3])))
        help = nil
      } else {
        try add(try Self.sample(line))
      }
    }
    for family in families { try Self.check(family) }
  }

  /// Every name that a query can use.
  package var names: Set<String> { Set(families.flatMap { $0.samples.map(\.name) }) }

  package subscript(name: String) -> Family? { families.first { $0.name == name } }

  private mutating func add(_ sample: Sample) throws {
    guard let family = families.last else { throw Problem(description: "\(sample.name): no TYPE") }
    let suffixes =
      switch family.type {
      case "histogram": ["_bucket", "_sum", "_count"]
      case "summary": ["", "_sum", "_count"]
      default: [""]
      }
    guard suffixes.contains(where: { family.name + $0 == sample.name }) else {
      throw Problem(description: "\(sample.name) is not of \(family.name)")
    }
    guard !family.samples.contains(where: { $0.name == sample.name && $0.labels == sample.labels }) else {
      throw Problem(description: "\(sample) is there twice")
    }
    families[families.count - 1].samples.append(sample)
  }

  private static func sample(_ line: Substring) throws -> Sample {
    let pattern = #/([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)/#
    guard let match = line.wholeMatch(of: pattern), let value = Double(match.3) else {
      throw Problem(description: "\(line): not a sample")
    }
    var labels: [String: String] = [:]
    var rest = match.2 ?? ""
    while !rest.isEmpty {
      guard let label = rest.prefixMatch(of: #/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,(?!$)|$)/#),
        labels.updateValue(String(label.2), forKey: String(label.1)) == nil
      else { throw Problem(description: "\(line): its labels") }
      rest = rest[label.range.upperBound...]
    }
    return Sample(name: String(match.1), labels: labels, value: value)
  }

  private static func check(_ family: Family) throws {
    guard !family.samples.isEmpty else { throw Problem(description: "\(family.name) has no samples") }
    if family.type == "counter" {
      guard family.name.hasSuffix("_total"), family.samples.allSatisfy({ $0.value >= 0 }) else {
        throw Problem(description: "\(family.name) is not a counter")
      }
    }
    guard family.type == "histogram" else { return }
    let series = Dictionary(grouping: family.samples) { $0.labels.filter { $0.key != "le" } }
    for (labels, samples) in series { try checkHistogram("\(family.name)\(labels)", samples) }
  }

  /// Buckets have rising bounds and counts; the last one is infinite and has everything.
  private static func checkHistogram(_ name: String, _ samples: [Sample]) throws {
    let buckets = try samples.filter { $0.name.hasSuffix("_bucket") }.map { sample in
      guard let bound = sample.labels["le"].flatMap({ $0 == "+Inf" ? .infinity : Double($0) }) else {
        throw Problem(description: "\(name): a bucket without a bound")
      }
      return (bound: bound, count: sample.value)
    }
    let (bounds, counts) = (buckets.map(\.bound), buckets.map(\.count))
    guard zip(bounds, bounds.dropFirst()).allSatisfy(<), bounds.last == .infinity else {
      throw Problem(description: "\(name): bounds \(bounds)")
    }
    guard zip(counts, counts.dropFirst()).allSatisfy(<=) else {
      throw Problem(description: "\(name): counts \(counts)")
    }
    let rest = samples.filter { !$0.name.hasSuffix("_bucket") }
    guard rest.count == 2, rest.first(where: { $0.name.hasSuffix("_count") })?.value == counts.last,
      let sum = rest.first(where: { $0.name.hasSuffix("_sum") })?.value, sum >= 0, counts.last != 0 || sum == 0
    else { throw Problem(description: "\(name): its count or its sum") }
  }
}
