import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdCache
@testable import ImgdDaemon
@testable import ImgdFleet

/// Hosts of one fleet with other settings or versions: none shows what it would not take from the origin itself, and none
/// takes from the others what they have.
struct DifferentHostsTests {
  /// Settings by which a host refuses a picture of 1,000 bytes in PNG, from 127.0.0.1.
  static let refusing = [
    "Downloads.AcceptTypes=jpeg", "Downloads.MaxBytes=999", "Network.Private=deny", "Network.Deny=127.0.0.0/8",
  ]

  @Test(arguments: refusing)
  func `what a host would not take from the origin it does not show, and leaves it to others`(setting: String) throws {
    let scene = try FleetScene(setting)
    scene.stage.origin.plan("/a", .picture(png(700)))
    scene.fleet.plan(.found(try FleetScene.picture()))
    #expect(try scene.outcome() != "fleet")
    #expect(scene.origin() == 1)
    #expect(scene.words == ["look #1"])
    #expect(scene.counts.hits == 0 && scene.counts.misses == 1 && scene.counts.invalid == 0)
  }

  @Test(arguments: refusing)
  func `nor does it show that to who wants nothing but what is stored`(setting: String) throws {
    let scene = try FleetScene(setting)
    scene.fleet.plan(.found(try FleetScene.picture()))
    #expect(try scene.outcome("/a", #""cache":"only-if-cached""#) == "not_cached")
    #expect(scene.words == ["read #1"])
  }

  @Test func `what the engine leaves to others is fetched for this host alone`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.plan(.foundForOthers)
    #expect(try scene.outcome() == "network")
    #expect(try scene.outcome() == "memory")
    #expect(scene.words == ["look #1"])
  }

  @Test func `what is left to others goes when the origin has it no longer`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", .status(404))
    scene.fleet.plan(.foundForOthers)
    #expect(try scene.outcome() == "http_status")
    #expect(scene.words == ["look #1", "remove"])
  }

  @Test(arguments: [(UInt8(250), ["look #1"], 0), (1, ["look #1", "claim #2 for 1", "store #2"], 1)])
  func `a format of another version is left, and bytes that are no picture are replaced`(
    format: UInt8, words: [String], invalid: Int
  ) throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", FleetScene.fresh())
    let sound = try FleetScene.picture()
    var record = sound.record
    record.facts = ImageFacts(format: format, width: 1, height: 1, frames: 1, orientation: 1)
    let bytes = [UInt8](repeating: 7, count: sound.payload.count)
    scene.fleet.plan(
      .found(FleetPicture(record: record, payload: Payload(bytes), mark: sound.mark, stamp: 1, age: .zero)))
    #expect(try scene.outcome() == "network")
    #expect(scene.words == words)
    #expect(scene.counts.invalid == invalid)
  }

  @Test(arguments: [
    ("deny", true, "fleet"), ("deny", false, "network"), ("direct", false, "fleet"), ("allow", false, "fleet"),
  ])
  func `of a name counts where another host has found it`(mode: String, isPublic: Bool, outcome: String) throws {
    let url = "http://o.example:8080/a"
    let other = try FleetScene()
    other.stage.origin.plan("/a", FleetScene.fresh())
    #expect(try other.stage.client.ask(#"{"cmd":"fetch","url":"\#(url)"}"#).outcome == "network")
    let store = try #require(other.fleet.stores.last)
    var record = store.record
    if isPublic { record.flags.insert(.publicAddress) }

    let scene = try FleetScene("Network.Private=\(mode)")
    scene.stage.origin.plan("/a", FleetScene.fresh())
    scene.fleet.plan(
      .found(FleetPicture(record: record, payload: store.payload, mark: PlannedFleet.mark(0), stamp: 1, age: .zero)))
    #expect(try scene.stage.client.ask(#"{"cmd":"fetch","url":"\#(url)"}"#).outcome == outcome)
    #expect(scene.words == ["look #1"])
  }

  @Test func `two hosts that accept different formats do not replace each other's pictures`() throws {
    let hosts = try ["png", "gif"].map { try FleetScene("Downloads.AcceptTypes=\($0)", "Disk.Enabled=no") }
    hosts[0].stage.origin.plan("/a", FleetScene.fresh())
    hosts[1].stage.origin.plan("/a", .picture(TestPicture.gif(width: 8, height: 8)))
    for _ in 0..<5 {
      for host in hosts {
        if let store = hosts.compactMap(\.fleet.stores.last).first { host.fleet.plan(.found(FleetPicture(store))) }
        _ = try host.outcome()
        _ = try host.stage.client.ask(#"{"cmd":"purge","tier":"memory"}"#)
      }
    }
    #expect(hosts[0].words.filter { !$0.hasPrefix("look") } == ["store #1"])
    #expect(hosts[1].words.filter { !$0.hasPrefix("look") } == [])
    // The one that cannot use what is there asks as often as it would alone.
    #expect(hosts.map { $0.origin() } == [1, 5])
  }

  @Test func `a form beyond this host's limits is not made of what others have`() throws {
    let scene = try FleetScene("Decode.MaxPixels=1")
    scene.fleet.plan(.found(try FleetScene.picture()))
    #expect(try scene.outcome("/a", #""resize":{"width":1}"#) == "too_many_pixels")
    #expect(scene.stage.decoding.orders.isEmpty && scene.origin() == 0)
  }

  @Test(arguments: ["ftp://127.0.0.1/a", "file:///a", "http://u:p@127.0.0.1:99999/a"])
  func `a URL that this host refuses is looked for nowhere`(url: String) throws {
    let scene = try FleetScene()
    #expect(try scene.stage.client.ask(#"{"cmd":"fetch","url":"\#(url)"}"#)["ok"] == false)
    #expect(scene.words == [])
  }
}
