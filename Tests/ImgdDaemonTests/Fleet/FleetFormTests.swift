import Glibc
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdCache
@testable import ImgdDaemon
@testable import ImgdFleet

/// Other forms of pictures in a fleet: made once for all hosts, under a claim.
struct FleetFormTests {
  private static let thumbnail = #""resize":{"width":20,"height":10}"#

  /// A host that has the picture itself; its looks from now on are for forms.
  private func scene(_ settings: String...) throws -> FleetScene {
    let scene = try FleetScene(settings)
    scene.stage.origin.plan("/a", Self.original)
    try scene.stage.fetch("/a")
    #expect(scene.words == ["look #1", "store #1"])
    return scene
  }

  private static let original = OriginAnswer.picture(
    TestPicture.png(width: 100, height: 50), headers: [("Cache-Control", "max-age=1000")])

  /// The orders about forms, in words.
  private func words(_ scene: FleetScene) -> [String] { Array(scene.words.dropFirst(2)) }

  /// A form as another host has stored it.
  private func form(_ fields: String = thumbnail) throws -> FleetPicture {
    let other = try scene()
    #expect(try other.outcome("/a", fields) == "memory")
    let store = try #require(other.fleet.stores.last)
    #expect(store.record.variant != nil)
    return FleetPicture(store)
  }

  private func decodes(_ scene: FleetScene) -> Int { scene.stage.decoding.orders.count }

  private func endsOnce(_ scene: FleetScene, _ words: [String]) {
    #expect(self.words(scene) == words)
    scene.stage.core.refuseAll(.shuttingDown)
    #expect(self.words(scene) == words)
  }

  @Test func `a form is made under a claim, and stored with what finds it`() throws {
    let scene = try scene()
    #expect(try scene.outcome("/a", Self.thumbnail) == "memory")
    #expect(decodes(scene) == 1)
    let store = try #require(scene.fleet.stores.last)
    #expect(store.record.url == scene.stage.origin.url("/a") && store.record.bytes == 500)
    #expect(store.payload.count == 500 && store.mark == PlannedFleet.mark(0))
    #expect(scene.counts.misses == 2)
    endsOnce(scene, ["look #2", "store #2"])
  }

  @Test func `a form of another host is shown and kept, and no decoder is asked`() throws {
    let scene = try scene()
    scene.fleet.plan(.found(try form()))
    let line = try scene.stage.client.ask(
      #"{"cmd":"fetch","url":"\#(scene.stage.origin.url("/a"))",\#(Self.thumbnail)}"#)
    #expect(line.outcome == "fleet" && line["bytes"]?.integer == 500)
    #expect(line["fresh_for"]?.integer == 1_000)
    #expect(try scene.outcome("/a", Self.thumbnail) == "memory")
    _ = try scene.stage.client.ask(#"{"cmd":"purge","tier":"memory"}"#)
    #expect(try scene.outcome("/a", Self.thumbnail) == "disk")
    #expect(decodes(scene) == 0 && scene.counts.hits == 1)
    endsOnce(scene, ["look #2"])
  }

  @Test func `all who wait for a form share one look`() throws {
    let scene = try scene()
    scene.fleet.plan(nil)
    let clients = try (0..<3).map { _ in try scene.stage.connect() }
    for client in clients { try scene.begin("/a", Self.thumbnail, on: client) }
    scene.answer(.found(try form()))
    for client in clients { #expect(try client.receive().outcome == "fleet") }
    endsOnce(scene, ["look #2"])
  }

  @Test func `a form that another host makes is waited for`() throws {
    let scene = try scene()
    scene.fleet.plan(.held)
    try scene.begin("/a", Self.thumbnail)
    scene.stage.pass(.seconds(2))
    #expect(decodes(scene) == 0 && scene.counts.waits == 1)
    scene.answer(.found(try form()))
    #expect(try scene.stage.client.receive().outcome == "fleet")
    #expect(decodes(scene) == 0)
  }

  @Test(arguments: [FleetAnswer.nothing, .failed])
  func `a form that does not come is made, and stored without a claim`(answer: FleetAnswer) throws {
    let scene = try scene()
    scene.fleet.plan(.held)
    try scene.begin("/a", Self.thumbnail)
    scene.answer(answer)
    #expect(try scene.stage.client.receive().outcome == "memory")
    endsOnce(scene, ["look #2", "store #2"])
  }

  @Test func `nobody waits for a server that is silent`() throws {
    let scene = try scene()
    scene.fleet.plan(nil)
    try scene.begin("/a", Self.thumbnail)
    scene.stage.pass(.milliseconds(50))
    #expect(try scene.stage.client.receive().outcome == "memory")
    #expect(scene.counts.timeouts == 1)
    endsOnce(scene, ["look #2", "release #2", "store #2"])
  }

  @Test func `a host that waits for another waits three seconds`() throws {
    let scene = try scene()
    scene.fleet.plan(.held)
    try scene.begin("/a", Self.thumbnail)
    scene.stage.pass(.milliseconds(3_025))
    #expect(decodes(scene) == 0)
    scene.stage.pass(.milliseconds(50))
    #expect(try scene.stage.client.receive().outcome == "memory")
  }

  @Test func `a failure gives the claim back, and is this host's own`() throws {
    let scene = try scene()
    scene.stage.decoding.failure = DecodeFailure(.damaged, "planned")
    #expect(try scene.outcome("/a", Self.thumbnail) == "decode_failed")
    endsOnce(scene, ["look #2", "release #2"])
    // It is known as bad by now.
    #expect(try scene.outcome("/a", Self.thumbnail) == "decode_failed")
    endsOnce(scene, ["look #2", "release #2"])
  }

  @Test func `who gives up a form gives its claim back`() throws {
    let scene = try scene()
    scene.stage.decoding.isHeld = true
    try scene.begin("/a", Self.thumbnail)
    scene.stage.settle()
    #expect(decodes(scene) == 1)
    try scene.stage.client.send(#"{"cmd":"cancel","all":true}"#)
    #expect(try scene.stage.client.receive().outcome == "cancelled")
    #expect(words(scene) == ["look #2", "release #2"])
    scene.stage.decoding.letThrough()
    scene.stage.settle()
    endsOnce(scene, ["look #2", "release #2"])
  }

  @Test func `who gives up a look gives back a claim that comes later`() throws {
    let scene = try scene()
    scene.fleet.plan(nil)
    try scene.begin("/a", Self.thumbnail)
    try scene.stage.client.send(#"{"cmd":"cancel","all":true}"#)
    #expect(try scene.stage.client.receive().outcome == "cancelled")
    #expect(words(scene) == ["look #2", "release #2"])
    scene.answer(.claimed)
    #expect(words(scene) == ["look #2", "release #2", "release #2"])
    #expect(decodes(scene) == 0)
  }

  @Test func `a stop gives the claim back`() throws {
    let scene = try scene()
    scene.stage.decoding.isHeld = true
    try scene.begin("/a", Self.thumbnail)
    scene.stage.settle()
    scene.stage.core.refuseAll(.shuttingDown)
    #expect(words(scene) == ["look #2", "release #2"])
  }

  @Test func `a claim is renewed while a decoder works`() throws {
    let scene = try scene()
    scene.stage.decoding.isHeld = true
    try scene.begin("/a", Self.thumbnail)
    scene.stage.pass(.seconds(10))
    #expect(words(scene) == ["look #2", "renew #2", "renew #2", "renew #2"])
    scene.stage.decoding.letThrough()
    #expect(try scene.stage.client.receive().outcome == "memory")
    scene.stage.pass(.seconds(10))
    #expect(words(scene) == ["look #2", "renew #2", "renew #2", "renew #2", "store #2"])
  }

  /// Purges of a form, by all that may name it.
  static let purges: [PurgeFilter] = {
    var (url, prefix, host, tag) = (PurgeFilter(), PurgeFilter(), PurgeFilter(), PurgeFilter())
    url.url = try? CanonicalURL.parse("http://127.0.0.1:8080/a")
    prefix.prefix = "http://127.0.0.1:8080/"
    host.host = "127.0.0.1"
    tag.tag = "page"
    return [PurgeFilter(), url, prefix, host, tag]
  }()

  @Test(arguments: purges, [true, false])
  func `a form that was purged since is made anew, and replaced`(filter: PurgeFilter, isSoft: Bool) throws {
    let found = try form(Self.thumbnail + #","tags":["page"]"#)
    let scene = try FleetScene()
    scene.fleet.tellPurge(1, filter, isSoft: isSoft)
    scene.stage.settle()
    scene.stage.origin.plan("/a", Self.original)
    try scene.stage.fetch("/a")
    scene.fleet.plan(.found(found))
    #expect(try scene.outcome("/a", Self.thumbnail) == "memory")
    #expect(words(scene) == ["look #2", "claim #3 for 1", "store #3"])
    #expect(scene.fleet.stores.last?.mark.number == 1 && decodes(scene) == 1)
  }

  @Test func `a purge of something else leaves a form`() throws {
    let found = try form()
    let scene = try scene()
    var filter = PurgeFilter()
    filter.tag = "other"
    scene.fleet.tellPurge(1, filter)
    scene.fleet.plan(.found(found))
    #expect(try scene.outcome("/a", Self.thumbnail) == "fleet")
  }

  @Test func `a form whose purges are not all known is made anew`() throws {
    let scene = try scene()
    let form = try form()
    let other = FleetPosition(generation: 8, number: 0, nonce: 0)
    scene.fleet.plan(
      .found(
        FleetPicture(record: form.record, payload: form.payload, mark: other, stamp: 1, age: .zero)),
      .held)
    try scene.begin("/a", Self.thumbnail)
    scene.stage.settle()
    #expect(words(scene) == ["look #2", "claim #3 for 1"])
    scene.answer(.found(form))
    #expect(try scene.stage.client.receive().outcome == "fleet")
  }

  @Test func `what is of no use is claimed once`() throws {
    let (scene, useless) = (try scene(), try FleetScene.picture("/a"))
    scene.fleet.plan(.found(useless), .held)
    try scene.begin("/a", Self.thumbnail)
    scene.stage.settle()
    scene.answer(.found(useless))
    #expect(try scene.stage.client.receive().outcome == "memory")
    endsOnce(scene, ["look #2", "claim #3 for 1", "store #3"])
  }

  @Test func `a claim that finds a form for others is no second miss, and leaves that form`() throws {
    let scene = try scene()
    let misses = scene.counts.misses
    scene.fleet.plan(.found(try FleetScene.picture("/a")), .foundForOthers)
    #expect(try scene.outcome("/a", Self.thumbnail) == "memory")
    #expect(scene.counts.invalid == 1 && scene.counts.misses == misses)
    endsOnce(scene, ["look #2", "claim #3 for 1"])
  }

  @Test func `the latency of looks is that of looks for pictures`() throws {
    let scene = try scene()
    #expect(scene.stage.core.fleet.latency.count == 1)
    _ = try scene.outcome("/a", Self.thumbnail)
    #expect(words(scene).first == "look #2" && scene.stage.core.fleet.latency.count == 1)
  }

  @Test(arguments: [true, false])
  func `a purge while it is made lets nothing be stored`(isOwn: Bool) throws {
    let scene = try scene()
    scene.stage.decoding.isHeld = true
    try scene.begin("/a", Self.thumbnail)
    scene.stage.settle()
    if isOwn {
      _ = try scene.stage.connect().ask(#"{"cmd":"purge","id":"p"}"#)
    } else {
      scene.fleet.tellPurge(1, PurgeFilter())
      scene.stage.settle()
    }
    scene.stage.decoding.letThrough()
    #expect(try scene.stage.client.receive()["ok"] == true)
    endsOnce(scene, ["look #2", "release #2"])
  }

  @Test func `a purge that means something else is later than a form that was begun before`() throws {
    let scene = try scene()
    scene.stage.decoding.isHeld = true
    try scene.begin("/a", Self.thumbnail)
    scene.stage.settle()
    var filter = PurgeFilter()
    filter.tag = "other"
    scene.fleet.tellPurge(1, filter)
    scene.stage.settle()
    scene.stage.decoding.letThrough()
    #expect(try scene.stage.client.receive()["ok"] == true)
    #expect(scene.fleet.stores.last?.mark.number == 0)
  }

  @Test func `a purge counts as earlier only once it is in force`() throws {
    let scene = try scene()
    let purges = scene.stage.core.parts.fleetPurges
    var filter = PurgeFilter()
    filter.tag = "other"
    scene.fleet.tellPurge(1, filter)
    scene.stage.tick()
    #expect(purges.history.position?.number == 1 && purges.inForce?.number == 0)
    scene.stage.settle()
    #expect(purges.inForce?.number == 1)
  }

  @Test func `a host without a decoder is given what others have made`() throws {
    let scene = try scene()
    scene.stage.decoding.failure = DecodeFailure(.unavailable, "planned")
    #expect(try scene.outcome("/a", Self.thumbnail) == "unavailable")
    scene.fleet.plan(.nothing, .found(try form()))
    #expect(try scene.outcome("/a", Self.thumbnail) == "unavailable")
    #expect(try scene.outcome("/a", Self.thumbnail) == "fleet")
    endsOnce(scene, ["look #2", "release #2", "read #3", "read #4"])
  }

  @Test func `a host where too much waits for a decoder is given what others have made`() throws {
    let picture = OriginAnswer.picture(
      TestPicture.png(width: 100, height: 50, padding: 50 << 20), headers: [("Cache-Control", "max-age=1000")])
    let (scene, other) = (
      try FleetScene("Downloads.MaxBytes=64M", "Memory.Capacity=1M"), try FleetScene("Downloads.MaxBytes=64M")
    )
    for stage in [scene.stage, other.stage] { for number in 1...3 { stage.origin.plan("/\(number)", picture) } }
    _ = try other.outcome("/3", Self.thumbnail)
    let found = FleetPicture(try #require(other.fleet.stores.last))
    scene.stage.decoding.isHeld = true
    let client = try scene.stage.connect(as: 4_711)
    func begin(_ number: Int) throws {
      try client.send(
        #"{"cmd":"fetch","id":\#(number),"url":"\#(scene.stage.origin.url("/\(number)"))",\#(Self.thumbnail)}"#)
      scene.stage.settle()
    }
    try begin(1)
    try begin(2)
    let held = try scene.stage.stats("held", "decoding")
    for answer in [FleetAnswer.nothing, .found(found)] {
      scene.fleet.plan(.claimed, nil)
      try begin(3)
      #expect(scene.words.last?.hasPrefix("read") == true)
      #expect(try scene.stage.stats("held", "decoding") > held)
      scene.answer(answer)
      let line = try client.receive()
      if case .found = answer { #expect(line["ok"] == true) } else { #expect(line.outcome == "queue_full") }
      #expect(try scene.stage.stats("held", "decoding") == held)
      _ = try scene.stage.client.ask(#"{"cmd":"purge","url":"\#(scene.stage.origin.url("/3"))","tier":"disk"}"#)
    }
  }

  @Test(arguments: [#""format":["avif","webp"]"#, #""format":"avif""#])
  func `a format that cannot be written here is looked for`(fields: String) throws {
    let other = try scene()
    other.stage.decoding.abilities = .success(
      DecoderAbilities(layers: .all, reads: [.png], writes: [.png, .avif], library: "planned"))
    #expect(try other.outcome("/a", fields) == "memory")
    let found = FleetPicture(try #require(other.fleet.stores.last))

    let scene = try scene()
    scene.stage.decoding.abilities = .success(
      DecoderAbilities(layers: .all, reads: [.png], writes: [], library: "planned"))
    scene.stage.decoding.failure = DecodeFailure(.unsupported, "planned")
    #expect(try scene.outcome("/a", fields) == "unsupported_format")
    // The planned decoder writes PNG whatever it is asked for: it is not what was wanted.
    scene.fleet.plan(.found(found))
    #expect(try scene.outcome("/a", fields) == "unsupported_format")
    #expect(words(scene) == ["read #2", "read #3"])
  }

  @Test func `what this host would refuse is not shown because another has made it`() throws {
    let scene = try scene("Decode.MaxPixels=1000")
    scene.fleet.plan(.found(try form()))
    #expect(try scene.outcome("/a", Self.thumbnail) == "too_many_pixels")
    #expect(words(scene) == [] && decodes(scene) == 0)
  }

  @Test func `a form beyond the limits here is left where it is`() throws {
    let scene = try scene("Decode.MaxDimension=100")
    let found = try form()
    let large = TestPicture.png(width: 101, height: 1)
    var record = found.record
    (record.bytes, record.checksum) = (large.count, BodyChecksum(of: Payload(large)))
    scene.fleet.plan(
      .found(FleetPicture(record: record, payload: Payload(large), mark: found.mark, stamp: 5, age: .zero)))
    #expect(try scene.outcome("/a", Self.thumbnail) == "memory")
    endsOnce(scene, ["look #2"])
    #expect(decodes(scene) == 1)
  }

  @Test func `a form that is too large for the server is made all the same`() throws {
    let scene = try FleetScene("Fleet.MaxObject=1K")
    let path = "/" + String(repeating: "a", count: 700)
    scene.stage.origin.plan(path, Self.original)
    #expect(try scene.outcome(path, Self.thumbnail) == "network")
    #expect(scene.words.prefix(2) == ["look #1", "remove #1"])
    endsOnce(scene, ["look #2", "release #2"])
  }

  @Test func `what is under a form's key, and is no form of it, is replaced`() throws {
    let scene = try scene()
    let found = try form()
    scene.fleet.plan(.found(try FleetScene.picture("/a")))
    #expect(try scene.outcome("/a", Self.thumbnail) == "memory")
    #expect(words(scene) == ["look #2", "claim #3 for 1", "store #3"])
    #expect(scene.counts.invalid == 1)
    let bytes = FleetPicture(
      record: found.record, payload: Payload([1, 2, 3]), mark: found.mark, stamp: 5, age: .zero)
    scene.stage.origin.plan("/b", Self.original)
    scene.fleet.plan(.claimed, .found(bytes))
    #expect(try scene.outcome("/b", Self.thumbnail) == "network")
    #expect(scene.counts.invalid == 2)
  }

  @Test func `a form of another format than is wanted is left where it is`() throws {
    let scene = try scene()
    let found = try form()
    let wanted = #""format":"webp","resize":{"width":20,"height":10}"#
    let key = try #require(try self.record(of: wanted))
    scene.fleet.plan(
      .found(FleetPicture(record: key, payload: found.payload, mark: found.mark, stamp: 5, age: .zero)))
    #expect(try scene.outcome("/a", wanted) == "memory")
    endsOnce(scene, ["look #2"])
  }

  /// The record under which a form is stored.
  private func record(of fields: String) throws -> StoredRecord? { try form(fields).record }

  @Test(arguments: [
    (#""store":"local""#, ["read #1"]), (#""store":"disk""#, ["read #1"]), (#""store":"none""#, ["read #1"]),
    (#""store":"fleet""#, ["look #1", "store #1"]), (#""deliver":"pixels""#, []), (#""describe":true"#, []),
    (#""headers":{"Authorization":"Basic eA=="}"#, []), (#""headers":{"If-None-Match":"\"7\""}"#, []),
    (#""cache":"no-store""#, ["read #1"]),
  ])
  func `a request says what may be done with its form`(fields: String, words: [String]) throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", Self.original)
    let form = fields.contains("pixels") || fields.contains("describe") ? "" : "," + Self.thumbnail
    _ = try scene.outcome("/a", fields + form)
    _ = scene.stage.client.takeDescriptor()
    let records = scene.fleet.orders.compactMap { order -> UInt64? in
      guard case .look(let look) = order, look.digest != self.digest(scene) else { return nil }
      return look.serial
    }
    let numbered = scene.fleet.orders.compactMap { order -> String? in
      switch order {
      case .look(let look) where records.contains(look.serial): (look.claims ? "look" : "read") + " #1"
      case .store(let store) where records.contains(store.serial): "store #1"
      case .release(let serial, _) where records.contains(serial): "release #1"
      default: nil
      }
    }
    #expect(numbered == words)
  }

  private func digest(_ scene: FleetScene) -> KeyDigest {
    KeyDigest(url: scene.stage.origin.url("/a"), identifier: nil)
  }

  @Test func `a form that is only for the fleet is kept nowhere else`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", Self.original)
    _ = try scene.outcome("/a", #""store":"fleet","# + Self.thumbnail)
    #expect(scene.fleet.stores.count == 2)
    #expect(scene.stage.files.isEmpty && scene.stage.core.memory.count == 0)
  }

  @Test(arguments: ["own", "all"])
  func `a picture that was put has no forms for others`(kind: String) throws {
    let scene = try FleetScene("Control.Put=\(kind)")
    let client = try scene.stage.connect(as: 7)
    let number = try handedMemory(TestPicture.png(width: 100, height: 50))
    defer { close(number) }
    let url = scene.stage.origin.url("/a")
    let put = try client.ask(#"{"cmd":"put","url":"\#(url)","ttl":1000}"#, with: number)
    #expect(put.outcome == "client")
    let line = try client.ask(#"{"cmd":"fetch","url":"\#(url)",\#(Self.thumbnail)}"#)
    #expect(line["ok"] == true && decodes(scene) == 1)
    #expect(scene.words == [])
  }

  @Test(arguments: ["", #","headers":{"X-A":"1"}"#])
  func `what is for one user alone has no forms for others`(fields: String) throws {
    let scene = try FleetScene("Control.Share=own")
    scene.stage.origin.plan("/a", Self.original)
    let client = try scene.stage.connect(as: 7)
    let url = scene.stage.origin.url("/a")
    let line = try client.ask(#"{"cmd":"fetch","url":"\#(url)",\#(Self.thumbnail)\#(fields)}"#)
    #expect(line["ok"] == true && decodes(scene) == 1)
    #expect(scene.words == [])
  }

  @Test func `what was handed in has no forms for others`() throws {
    let scene = try FleetScene()
    let number = try handedMemory(TestPicture.png(width: 100, height: 50))
    defer { close(number) }
    let line = try scene.stage.client.ask(#"{"cmd":"fetch","url":"fd:",\#(Self.thumbnail)}"#, with: number)
    #expect(line["ok"] == true && decodes(scene) == 1)
    #expect(scene.words == [])
  }

  @Test func `what the machine's own credentials open is for no other host, nor are its forms`() throws {
    let directory = TemporaryDirectory()
    try write("Authorization: Bearer of-the-machine\n", to: directory.path + "/fields")
    chmod(directory.path + "/fields", 0o600)
    let scene = try FleetScene("Origin 127.0.0.1.HeaderFile=\(directory.path)/fields")
    scene.stage.origin.plan("/a", Self.original)
    #expect(try scene.outcome("/a") == "network")
    _ = try scene.outcome("/a", Self.thumbnail)
    #expect(scene.words == [])
  }

  @Test func `an origin that keeps a picture from others keeps its forms from them`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan(
      "/a", .picture(TestPicture.png(width: 100, height: 50), headers: [("Cache-Control", "private")]))
    _ = try scene.outcome("/a", Self.thumbnail)
    #expect(scene.words == ["look #1", "remove #1"])
  }

  @Test func `the users who claim a form are not told to other hosts`() throws {
    let scene = try FleetScene()
    scene.stage.origin.plan("/a", Self.original)
    let client = try scene.stage.connect(as: 7)
    let url = scene.stage.origin.url("/a")
    _ = try client.ask(#"{"cmd":"fetch","url":"\#(url)","tags":["page"],\#(Self.thumbnail)}"#)
    let store = try #require(scene.fleet.stores.last)
    let value = FleetValue(
      begunAt: 0, storedAt: 0, mark: store.mark, stamp: 1, record: store.record, payload: store.payload)
    let bytes = try #require(value.front) + store.payload.bytes
    let read = try FleetValue.decode(ArrivedValue(bytes), under: store.record.digest).get()
    #expect(store.record.owner == 7 && read.record.owner == nil)
    #expect(!read.record.tags.contains { EntryTags.isClaim($0) })
  }

  @Test func `a fleet that is of no use delays no form`() throws {
    let scene = try scene()
    scene.tell(.state(FleetState(.down, "planned")))
    #expect(try scene.outcome("/a", Self.thumbnail) == "memory")
    #expect(words(scene) == [])
  }
}
