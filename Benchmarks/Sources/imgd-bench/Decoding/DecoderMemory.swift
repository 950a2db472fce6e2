import Glibc

/// The memory of the daemon while it has no decoder, and of a decoder that has nothing to do.
enum DecoderMemory {
  private static let orders = 50

  static func run(_ bench: Bench, _ set: PictureSet) throws(BenchFailure) {
    let imgd = try Imgd(
      bench, settings: Imgd.roomy + ["Disk.Enabled=no", "Decode.Workers=1"])
    defer { imgd.child.end() }
    let daemon = ProcessMeter(imgd.child)
    tell(bench, "imgd without a decoder", try Shares(daemon), beside: nil)
    try imgd.fetchAll(set.urls)
    let before = try Shares(daemon)
    try decode(imgd, Array(set.urls.prefix(1)))
    guard let pid = daemon.children.first else { throw .unavailable("imgd has no decoder") }
    let decoder = ProcessMeter(pid: pid)
    let first = try Shares(decoder)
    tell(bench, "idle decoder", first, beside: nil)
    try decode(imgd, Array(set.urls.prefix(orders)))
    tell(bench, "after \(orders) more", try Shares(decoder), beside: ("at first", first))
    tell(bench, "imgd meanwhile", try Shares(daemon), beside: ("before", before))
  }

  private static func decode(_ imgd: Imgd, _ urls: [String]) throws(BenchFailure) {
    let requests = imgd.hits(
      urls, deliver: "pixels", more: #","store":"none""#, framing: .descriptors)
    _ = try requests.askOnce(.alone)
  }

  /// Bytes of a process, by who else has them.
  private struct Shares {
    let resident: Double
    let proportional: Double
    let own: Double

    init(_ meter: ProcessMeter) throws(BenchFailure) {
      resident = Double(try meter.residentBytes)
      proportional = Double(try meter.proportionalBytes)
      own = Double(try meter.privateBytes)
    }
  }

  private static func tell(
    _ bench: Bench, _ who: String, _ shares: Shares, beside peer: (name: String, shares: Shares)?
  ) {
    let kinds: [(name: String, path: KeyPath<Shares, Double>)] = [
      ("resident", \.resident), ("its share (PSS)", \.proportional), ("private", \.own),
    ]
    for kind in kinds {
      let bytes = shares[keyPath: kind.path]
      let other = peer?.shares[keyPath: kind.path] ?? shares.resident
      bench.report.add(
        Row(
          what: "\(who), \(kind.name)", figure: Figure(bytes, "B"), peer: peer?.name ?? "resident",
          ratios: Ratios([bytes / other])))
    }
  }
}
