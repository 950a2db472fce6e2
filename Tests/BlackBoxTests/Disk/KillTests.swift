import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Daemons that are killed in the middle of everything, again and again.
///
/// Each URL has one picture after another. Some of them may never be seen again: those before the
/// last one whose path was told, and those from before a purge that was answered.
@Suite("A daemon that is killed") struct KillTests {
  @Test(arguments: 0..<4)
  func `never serves anything but what is whole and has not been purged`(seed: Int) throws {
    try KillTrial.run(seed: seed, rounds: 12)
  }
}

/// The same, so often that rare moments are met.
@Suite("A daemon that is killed again and again", .slow) struct KillSoakTests {
  @Test(arguments: 0..<4)
  func `never serves anything but what is whole and has not been purged`(seed: Int) throws {
    try KillTrial.run(seed: seed, rounds: 85)
  }
}

/// One cache directory that many daemons have, one after the other.
private final class KillTrial {
  private static let urls = 24
  private static let hosts = ["127.0.0.1", "localhost"]

  private let stage: DiskStage
  private var noise: Noise
  private var pictures: [TrialPicture]
  /// What was asked on the connection that is open, by the id of the request.
  private var asked: [Int: Request] = [:]
  private var nextID = 0

  private enum Request {
    case fetch(url: Int, floor: Int)
    /// The pictures that it concerns, and the first version of each that may still be seen.
    case purge([Int: Int])
  }

  init(seed: UInt64) throws {
    noise = Noise(seed: seed)
    stage = try DiskStage(
      "Disk.Capacity=\(16 * 4_096)", "Disk.TrimTo=50%", "Disk.Lease=\(seed % 2)s", starts: false)
    pictures = (0..<Self.urls).map { TrialPicture(number: $0) }
    for number in pictures.indices { publish(number) }
  }

  static func run(seed: Int, rounds: Int) throws {
    let trial = try KillTrial(seed: UInt64(seed))
    for _ in 0..<rounds { try trial.round() }
    try trial.settle()
  }

  /// Starts a daemon, asks it for many things at once, hears some of it, and kills it.
  func round() throws {
    if chance(10) {
      try stage.spawn()
      spin(most: 3_000)
      return stage.kill9()
    }
    try stage.start()
    asked = [:]
    for _ in 0..<Int.random(in: 1..<6, using: &noise) {
      let lines = (0..<Int.random(in: 1..<12, using: &noise)).map { _ in request() }
      try stage.client.sendRaw(Array(lines.joined().utf8))
      for _ in 0..<Int.random(in: 0...asked.count, using: &noise) {
        try hear(try stage.client.receive())
      }
    }
    if chance(50) { spin(most: 300) }
    guard stage.isRunning else { throw TestFailure("imgd ended by itself: \(stage.log)") }
    if chance(10) { #expect(stage.stop() == 0) } else { stage.kill9() }
    // A purge that was not answered may not have happened.
    for number in pictures.indices { pictures[number].expected = pictures[number].floor }
  }

  /// After all of that the files are what the entries say.
  func settle() throws {
    try stage.start()
    #expect(try becomes { try stage.agrees() }, "\(stage.files) \(stage.log)")
    for entry in try stage.entries() {
      let url = try #require(entry["url"]?.string)
      let number = try #require(Int(url.split(separator: "/").last ?? ""))
      let path = try #require(entry["path"]?.string)
      try check(path, number, from: pictures[number].floor)
    }
    let known = ["1", "lock"]
    #expect(Set(TemporaryDirectory.names(in: stage.cache)) == Set(known))
    let names = TemporaryDirectory.names(in: stage.cache + "/1").filter { $0.utf8.count > 2 }
    #expect(Set(names).isSubset(of: ["index.db", "index.db-wal"]), "\(names)")
    for number in pictures.indices {
      try check(try stage.path(of: "/\(number)"), number, from: pictures[number].floor)
    }
  }

  // MARK: Asking

  private func request() -> String {
    let id = nextID
    nextID += 1
    let number = Int.random(in: 0..<Self.urls, using: &noise)
    if chance(20) { publish(number) }
    if chance(15) { return purge(number, id: id) }
    asked[id] = .fetch(url: number, floor: pictures[number].expected)
    let mode = chance(25) ? #","cache":"reload""# : ""
    let store = chance(50) ? #","store":"disk""# : ""
    let tag = number.isMultiple(of: 3) ? #","tags":["third"]"# : ""
    return #"{"cmd":"fetch","id":\#(id),"url":"\#(url(number))"\#(mode)\#(store)\#(tag)}"# + "\n"
  }

  private func purge(_ number: Int, id: Int) -> String {
    let (filter, matches): (String, (Int) -> Bool) =
      switch Int.random(in: 0..<6, using: &noise) {
      case 0: ("", { _ in true })
      case 1: (#","host":"\#(Self.hosts[number % 2])""#, { $0 % 2 == number % 2 })
      case 2: (#","tag":"third""#, { $0 % 3 == 0 })
      case 3:
        (
          #","prefix":"\#(url(number))""#,
          { "\($0)".hasPrefix("\(number)") && $0 % 2 == number % 2 }
        )
      default: (#","url":"\#(url(number))""#, { $0 == number })
      }
    var floors: [Int: Int] = [:]
    for match in pictures.indices where matches(match) {
      publish(match)
      floors[match] = pictures[match].newest
      pictures[match].expected = pictures[match].newest
    }
    asked[id] = .purge(floors)
    return #"{"cmd":"purge","id":\#(id)\#(filter)}"# + "\n"
  }

  private func url(_ number: Int) -> String {
    stage.origin.url("/\(number)", host: Self.hosts[number % 2])
  }

  private func publish(_ number: Int) {
    pictures[number].newest += 1
    stage.origin.plan("/\(number)", .picture(pictures[number].bytes(pictures[number].newest)))
  }

  // MARK: Hearing

  private func hear(_ line: JSONValue) throws {
    let id = Int(try #require(line["id"]?.integer))
    guard line["ok"] == .bool(true), let request = asked.removeValue(forKey: id) else {
      throw TestFailure(line.text + stage.log)
    }
    switch request {
    case .purge(let floors):
      for (number, floor) in floors {
        pictures[number].floor = max(pictures[number].floor, floor)
      }
    case .fetch(let number, let floor):
      guard let path = line["path"]?.string else { return }
      // Without a lease a later request on the same connection may have removed it.
      guard CacheFiles.exists(path) else { return }
      let version = try check(path, number, from: floor)
      pictures[number].floor = max(pictures[number].floor, version)
      pictures[number].expected = max(pictures[number].expected, version)
    }
  }

  @discardableResult
  private func check(_ path: String, _ number: Int, from floor: Int) throws -> Int {
    guard let bytes = readBytes(path) else { return floor }
    let picture = pictures[number]
    let version = (0...picture.newest).first { picture.bytes($0) == bytes }
    let found = try #require(version, "\(path) is not whole: \(bytes.count) bytes")
    #expect(found >= floor, "\(path) is version \(found) of /\(number), not \(floor) or later")
    return found
  }

  // MARK: Chance

  private func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &noise) < percent }

  /// Lets a little time go by, a different one each time.
  private func spin(most: Int) {
    for _ in 0..<Int.random(in: 0...most, using: &noise) { sched_yield() }
  }
}

/// A picture that changes.
private struct TrialPicture {
  let number: Int
  /// The version that the origin has now.
  var newest = 0
  /// The oldest that may be seen for ever.
  var floor = 0
  /// The oldest that may be seen on the connection that is open.
  var expected = 0

  /// Small, with its version written in it.
  func bytes(_ version: Int) -> [UInt8] {
    Self.frame + TestPicture.pngChunk("paDd", Array("\(number) \(version)".utf8)) + Self.end
  }

  private static let whole = TestPicture.png(bytes: 600)
  private static let frame = Array(whole.dropLast(12))
  private static let end = Array(whole.suffix(12))
}
