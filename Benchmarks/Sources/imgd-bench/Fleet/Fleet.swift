import Glibc

/// Hosts that share a redis-server: what a hit costs there, what the server carries, how soon a purge is
/// everywhere, and what is left of all that where the server is gone.
enum Fleet {
  static func run(_ bench: Bench) throws(BenchFailure) {
    guard Child.exists(Redis.program) else { throw .unavailable("redis-server is missing") }
    if let readers = bench.options.readers { return try FleetReaders.run(bench, hosts: readers) }
    try FleetHits.run(bench)
    try FleetTLS.run(bench)
    try FleetForms.run(bench)
    try FleetThroughput.run(bench)
    try FleetPurges.run(bench)
    try FleetMisses.run(bench)
    try FleetBeside.run(bench)
  }

  /// Has every picture brought to the server by a host, which is then ended.
  static func fill(_ imgd: Imgd, _ urls: [String]) throws(BenchFailure) {
    // One after the other: what waits to be sent to the server is limited.
    for (number, url) in urls.enumerated() {
      try imgd.expect(Imgd.fetch(url, deliver: "none", more: only))
      try imgd.awaitFleetStores(number + 1)
    }
    imgd.child.end()
  }

  /// A redis-server as a fleet wants it. Where a hit is compared with a download, it is beside the origin: both are other
  /// machines to the one that asks.
  static func server(_ bench: Bench, place: Place = .server) throws(BenchFailure) -> Redis {
    try Redis(bench, place: place, settings: Redis.ofFleet)
  }

  /// A host with its own cache that uses the server, when it can.
  static func host(
    _ bench: Bench, _ server: Redis, place: Place = .server
  ) throws(BenchFailure) -> Imgd {
    let imgd = try Imgd(
      bench, place: place,
      settings: Imgd.roomy + ["Fleet.Server=unix:\(server.socket)", "Fleet.MaxObject=2M"])
    try imgd.awaitFleet("ok")
    return imgd
  }

  /// What keeps a picture out of a host's own tiers, so that each hit is one of the fleet.
  static let only = #","store":"fleet""#
}

extension Imgd {
  /// What `stats.fleet` says of the server.
  var fleetState: String {
    get throws(BenchFailure) {
      let stats = try expect(#"{"cmd":"stats"}"#)
      let state = stats.after(#""fleet":{"#)?.after(#""state":""#)
      return state.map { String($0.prefix { $0 != "\"" }) } ?? "nothing"
    }
  }

  func awaitFleet(_ state: String) throws(BenchFailure) {
    for _ in 0..<20_000 {
      if try fleetState == state { return }
      usleep(500)
    }
    throw .unavailable("the fleet is \(try fleetState), not \(state)")
  }

  /// Waits until so many pictures are in the server.
  func awaitFleetStores(_ count: Int) throws(BenchFailure) {
    for _ in 0..<20_000 {
      if try stat("fleet", "stores") >= count { return }
      usleep(500)
    }
    throw .unavailable("\(try stat("fleet", "stores")) of \(count) pictures are in the server")
  }
}
