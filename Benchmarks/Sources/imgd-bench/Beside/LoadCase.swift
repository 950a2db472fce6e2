import Glibc

/// One load: a name on the command line, what it needs, and how it begins.
struct LoadCase: Sendable {
  /// What shows what is the machine's, under the same load.
  enum Peer: Sendable { case none, floor, redis, nginx }

  let name: String
  let about: String
  /// What an operator sets for such a load.
  var settings: [String] = []
  var peer = Peer.floor
  var hasGateway = false
  /// How many of the smallest pictures are in memory.
  var entries = 0
  let begin: @Sendable (_ stage: LoadStage, _ witness: Witness) throws(BenchFailure) -> any SideLoad
}

/// The servers of one load, and who waits at them.
struct LoadStage {
  /// With it, the thread of a server that answers goes before what else the machine does. Nginx has its own in a process
  /// that is a child, the gateway has several.
  static let scheduling = geteuid() == 0 ? ["chrt", "--reset-on-fork", "--rr", "1"] : []
  static let schedulingOfAll = geteuid() == 0 ? ["chrt", "--rr", "1"] : []

  let bench: Bench
  let imgd: Imgd
  let origin: Origin
  /// A picture of 28 kB that is in memory.
  let url: String
  let gateway: ImgdHTTP?
  private(set) var witnesses: [Witness] = []

  init(_ bench: Bench, _ one: LoadCase) throws(BenchFailure) {
    self.bench = bench
    let nginx = try Nginx(bench, scheduling: Self.schedulingOfAll)
    try nginx.add(PNGFile.make(bytes: 28_000, seed: 1), as: "hit.png")
    url = nginx.url("hit.png")
    origin = try Origin(bench, .silent)
    imgd = try Imgd(
      bench, settings: one.settings, scheduling: Self.scheduling)
    gateway = one.hasGateway ? try ImgdHTTP(bench, before: imgd, scheduling: Self.schedulingOfAll) : nil
    try imgd.expect(Imgd.fetch(url, deliver: "none"))
    if one.entries > 0 { try fill(bench.scaled(one.entries, quick: 5_000)) }
    witnesses = [.hit(imgd, url)] + (gateway.map { [.page($0, url)] } ?? [])
    switch one.peer {
    case .none: break
    case .floor: witnesses.append(.floor(try Floor(bench, replyBytes: 300, scheduling: Self.scheduling)))
    case .redis: witnesses.append(try .redis(Redis(bench, scheduling: Self.scheduling)))
    case .nginx: witnesses.append(.nginx(nginx, "hit.png"))
    }
    try openToAll([imgd.socket, gateway?.socket, nginx.socket].compactMap { $0 } + witnesses.map(\.socket))
  }

  private func fill(_ count: Int) throws(BenchFailure) {
    let pictures = try Origin(bench)
    try imgd.fetchAll((0..<count).map(pictures.url), more: #","store":"memory""#)
  }

  /// The crowd is another user.
  private func openToAll(_ sockets: [String]) throws(BenchFailure) {
    guard unsafe chmod(bench.workplace, 0o711) == 0 else { throw .system("chmod", bench.workplace) }
    for socket in sockets {
      guard unsafe chmod(socket, 0o666) == 0 else { throw .system("chmod", socket) }
    }
  }

  var meters: [(name: String, meter: ProcessMeter)] {
    [("imgd", ProcessMeter(imgd.child))] + (gateway.map { [("imgd-http", ProcessMeter($0.child))] } ?? [])
  }

  /// The line of a hit, as a crowd says it.
  var hit: String { Imgd.fetch(url, deliver: "none") + "\n" }
}

extension Witness {
  static func floor(_ floor: Floor) -> Witness {
    Witness(name: "floor", socket: floor.socket, request: String(repeating: "x", count: 140) + "\n")
  }

  static func redis(_ redis: Redis) throws(BenchFailure) -> Witness {
    try redis.set("picture", [UInt8](repeating: 0x78, count: 300))
    return Witness(
      name: "redis", socket: redis.socket,
      request: String(decoding: redis.get("picture").requests[0], as: UTF8.self), framing: .bulks)
  }

  static func page(_ gateway: ImgdHTTP, _ url: String) -> Witness {
    Witness(
      name: "imgd-http", socket: gateway.socket,
      request: String(decoding: gateway.hits([url]).requests[0], as: UTF8.self), framing: .pages)
  }

  static func nginx(_ nginx: Nginx, _ name: String) -> Witness {
    Witness(
      name: "nginx", socket: nginx.socket, request: String(decoding: nginx.get(name).requests[0], as: UTF8.self),
      framing: .pages)
  }

  /// Peers are there to compare with.
  var isJudged: Bool { name.hasPrefix("imgd") }
}
