import ImgdTestSupport
import Testing

/// A fleet of two hosts beside its servers and two at the far ends of lines, on which each packet takes twenty
/// milliseconds and one of a hundred is lost.
final class DistantFleet {
  private static let paths = (0..<5).map { "/\($0)" }
  /// A packet that is lost takes longer.
  private static let timeout = "Fleet.Timeout=100ms"

  let stage: FleetStage
  private let grounds: FleetGrounds
  private let lines: [PoorLine]
  private var purges = 0
  /// What each host has purged itself: the oldest version that it may show, by picture.
  private var floors: [[Int]]

  init(on kind: FleetGrounds.Kind) throws {
    let home = try PrivateNetwork()
    let ends = try (1...2).map { _ in try PrivateNetwork() }
    lines = try ends.enumerated().map { number, end in
      try PoorLine(
        number: number, from: home, to: end, delay: .milliseconds(20), lossPercent: 1, seed: UInt64(number))
    }
    grounds = try FleetGrounds(kind, in: home)
    stage = try FleetStage(
      hosts: 0, of: grounds.server, at: grounds.address, settings: [Self.timeout] + grounds.settings)
    for network in ends + [home] { try stage.origin.listen(in: network) }
    for network in [home, home] + ends { try stage.add(wrapper: network.wrapper) }
    for path in Self.paths { stage.pictures.add(path, bytes: 30_000) }
    floors = stage.hosts.map { _ in Self.paths.map { _ in 1 } }
    try stage.awaitPictureServers()
  }

  var far: ArraySlice<FleetHost> { stage.hosts.suffix(lines.count) }

  // MARK: Lines

  /// Cuts the lines, and waits until the hosts at their ends know.
  func cut() throws {
    for line in lines { line.cut() }
    for host in far where try !becomes({ try host.state == "down" }) {
      throw TestFailure("it has a server over a line that is cut: \(try host.fleet().text)")
    }
  }

  func mend() { for line in lines { line.mend() } }

  // MARK: Purges

  /// Has every host fetch a picture and a form of it, and one of them purge it then, each in turn; that host, and what
  /// it says of the fleet.
  @discardableResult
  func purgeNext() throws -> (host: FleetHost, sending: String?) {
    let (host, picture) = (purges % stage.hosts.count, purges % Self.paths.count)
    let (path, url) = (Self.paths[picture], stage.origin.url(Self.paths[picture]))
    try stage.expect(path, since: floors.map { $0[picture] }, formFirst: purges.isMultiple(of: 2))
    stage.pictures.publish(path)
    floors[host][picture] = stage.pictures.version(of: path)
    // The server forgets a picture itself that is purged by its URL.
    let filters = [#""url":"\#(url)""#, #""prefix":"\#(url)""#, #""tag":"\#(path)","host":"127.0.0.1""#]
    defer { purges += 1 }
    return (stage.hosts[host], try stage.hosts[host].purge(filters[purges % filters.count]))
  }

  /// Waits until each host has its servers and has heard all purges, and expects the newest versions of it.
  func expectNewest() throws {
    try stage.awaitPictureServers()
    try stage.catchUp()
    for (number, path) in Self.paths.enumerated() {
      try stage.expectNewest(path, formFirst: number.isMultiple(of: 2))
    }
    for host in stage.hosts {
      #expect(try host.purges("gaps") == 0)
      #expect(try host.count("hits") > 0)
    }
  }
}
