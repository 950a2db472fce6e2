import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Ten hosts that fetch and purge at random, while hosts are stopped, cut off and killed.
///
/// Each picture has one version after another. From a purge on, its host shows no older version any more,
/// and from when all hosts have caught up none of them does.
final class FleetTrial {
  private static let urls = 24
  private static let names = ["127.0.0.1", "localhost"]

  private let stage: FleetStage
  private let relay: SocketRelay
  private let grounds: FleetGrounds
  private var noise: Noise
  private var pictures: [Picture] = []
  /// What each host must keep to, by picture.
  private var own: [[Floor]]
  private var trouble: Trouble?

  private struct Picture {
    let path: String
    let url: String
    let tags: String
    /// What all hosts must keep to at the end.
    var floor = Floor()

    func fields(_ isForm: Bool = false) -> String {
      (isForm ? VersionedPictures.form : VersionedPictures.inside) + tags
    }
  }

  /// The oldest versions that may be shown.
  private struct Floor {
    /// By a fetch that takes no stale picture.
    var fresh = 1
    /// By any fetch: a soft purge leaves what there is.
    var any = 1

    mutating func rise(to version: Int, isSoft: Bool) {
      fresh = version
      if !isSoft { any = version }
    }
  }

  /// What one host suffers, until it is over.
  private enum Trouble {
    case frozen(Int)
    case killed(Int)
    case cutOff
    case serverKilled(RedisServer)
    case serverFrozen(RedisServer)
  }

  init(seed: UInt64, on grounds: FleetGrounds) throws {
    noise = Noise(seed: seed)
    self.grounds = grounds
    stage = try FleetStage(
      hosts: 9, of: grounds.server, at: grounds.address, settings: [FleetStage.usualPatience] + grounds.settings)
    relay = try SocketRelay(
      to: stage.redis.socket, at: stage.redis.directory + "/relay")
    // A relay leads to one server, whatever becomes of it.
    try stage.add(to: grounds.losesPurges ? nil : "unix:\(relay.socket)")
    try stage.awaitAll()
    own = stage.hosts.map { _ in (0..<Self.urls).map { _ in Floor() } }
    for number in 0..<Self.urls {
      let path = "/picture-\(number)"
      let url = stage.pictures.add(path, host: Self.names[number % 2])
      pictures.append(Picture(path: path, url: url, tags: number % 3 == 0 ? #","tags":["third"]"# : ""))
    }
  }

  /// So many purges, each with fetches that run meanwhile.
  func run(purges: Int) throws {
    for number in 0..<purges {
      if number % 25 == 0 { try changeTrouble() }
      try round()
    }
    try endTrouble()
    try stage.awaitAll()
    try stage.catchUp()
    try check()
  }

  // MARK: A round

  private func round() throws {
    let fetches = usable.shuffled(using: &noise).prefix(4).map { host in
      (host: host, picture: Int.random(in: 0..<Self.urls, using: &noise), isForm: chance(40))
    }
    let before = fetches.map { own[$0.host][$0.picture] }
    for (host, picture, isForm) in fetches {
      let mode = chance(10) ? #","cache":"reload""# : ""
      try stage.hosts[host].client.send(
        FleetHost.request(pictures[picture].url, pictures[picture].fields(isForm) + mode))
    }
    // A host that fetches is asked in turn, so that the purge meets what is under way elsewhere.
    if let host = usable.filter({ host in !fetches.contains { $0.host == host } })
      .randomElement(using: &noise)
    {
      try purge(at: host)
    }
    for (fetch, floor) in zip(fetches, before) {
      let answer = try stage.hosts[fetch.host].client.receive()
      try expect(answer, fetch.picture, floor.fresh, "host \(fetch.host)", isForm: fetch.isForm)
    }
  }

  private func purge(at host: Int) throws {
    let number = Int.random(in: 0..<Self.urls, using: &noise)
    let url = pictures[number].url
    let (filter, matches): (String, (Int) -> Bool) =
      switch Int.random(in: 0..<20, using: &noise) {
      case 0: ("", { _ in true })
      case 1: (#""host":"\#(Self.names[number % 2])""#, { $0 % 2 == number % 2 })
      case 2, 3: (#""tag":"third""#, { $0 % 3 == 0 })
      case 4, 5:
        (
          #""prefix":"\#(url)""#,
          { "\($0)".hasPrefix("\(number)") && $0 % 2 == number % 2 }
        )
      default: (#""url":"\#(url)""#, { $0 == number })
      }
    let isSoft = chance(25)
    for match in pictures.indices where matches(match) {
      stage.pictures.publish(pictures[match].path)
      let version = stage.pictures.version(of: pictures[match].path)
      pictures[match].floor.rise(to: version, isSoft: isSoft)
      own[host][match].rise(to: version, isSoft: isSoft)
    }
    let soft = isSoft ? #""soft":true"# : ""
    try stage.hosts[host].purge([filter, soft].filter { !$0.isEmpty }.joined(separator: ","))
  }

  private func expect(
    _ answer: JSONValue, _ picture: Int, _ floor: Int, _ who: String, isForm: Bool = false
  ) throws {
    let path = pictures[picture].path
    let version =
      try isForm
      ? stage.pictures.version(ofFormOf: path, in: answer) : stage.pictures.version(of: path, in: answer)
    #expect(
      version >= floor,
      "\(who) shows \(isForm ? "a form of " : "")version \(version) of \(path) from \(answer.outcome), not \(floor) or later: \(answer.text.prefix(400))"
    )
  }

  // MARK: Trouble

  /// The hosts that can be asked now.
  private var usable: [Int] {
    switch trouble {
    case .frozen(let host), .killed(let host): stage.hosts.indices.filter { $0 != host }
    case .cutOff, .serverKilled, .serverFrozen, nil: Array(stage.hosts.indices)
    }
  }

  private func changeTrouble() throws {
    try endTrouble()
    let host = Int.random(in: 0..<stage.hosts.count, using: &noise)
    switch Int.random(in: 0..<(grounds.hasMore ? 7 : 5), using: &noise) {
    case 0:
      stage.hosts[host].freeze()
      trouble = .frozen(host)
    case 1:
      stage.hosts[host].kill()
      trouble = .killed(host)
    case 2:
      relay.cut()
      trouble = .cutOff
    case 3:
      // All connections to the server at once.
      try grounds.master.command("CLIENT", "KILL", "TYPE", "normal")
    case 5:
      let server = grounds.expendable(using: &noise)
      server.freeze()
      trouble = .serverFrozen(server)
    case 6:
      let server = grounds.expendable(using: &noise)
      server.kill()
      trouble = .serverKilled(server)
    default: break
    }
  }

  private func endTrouble() throws {
    switch trouble {
    case .frozen(let host): stage.hosts[host].thaw()
    case .killed(let host): try stage.hosts[host].start()
    case .cutOff: relay.mend()
    case .serverKilled(let server): try server.start()
    case .serverFrozen(let server): server.thaw()
    case nil: break
    }
    trouble = nil
  }

  // MARK: The end

  /// Asks every host for every picture, from what there is and then anew.
  private func check() throws {
    for (host, floors) in zip(stage.hosts.indices, own) {
      for (number, picture) in pictures.enumerated() {
        let stored = try stage.hosts[host].fetch(
          picture.url, picture.fields() + #","cache":"only-if-cached""#)
        if stored.outcome != "not_cached" {
          let floor = max(picture.floor.any, floors[number].any)
          try expect(stored, number, floor, "host \(host), only-if-cached,")
        }
        for isForm in [false, true] {
          let answer = try stage.hosts[host].fetch(picture.url, picture.fields(isForm))
          try expect(answer, number, picture.floor.fresh, "host \(host)", isForm: isForm)
        }
      }
    }
    guard !grounds.losesPurges else { return }
    for host in stage.hosts { #expect(try host.purges("gaps") == 0) }
  }

  private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &noise) < percent }
}

@Suite("Ten hosts in trouble") struct FleetTrialTests {
  @Test(arguments: [FleetGrounds.Kind.one, .several, .failing])
  func `never show what was purged`(on kind: FleetGrounds.Kind) throws {
    try FleetTrial(seed: 1, on: FleetGrounds(kind)).run(purges: 60)
  }
}

/// The same for as long as it takes to meet rare moments.
@Suite("Ten hosts in trouble again and again", .slow) struct FleetTrialSoakTests {
  @Test(arguments: [FleetGrounds.Kind.one, .several, .failing])
  func `never show what was purged`(on kind: FleetGrounds.Kind) throws {
    try FleetTrial(seed: 2, on: FleetGrounds(kind)).run(purges: 1_000)
  }
}
