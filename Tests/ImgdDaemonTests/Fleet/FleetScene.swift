import Glibc
import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

@testable import ImgdCache
@testable import ImgdDaemon
@testable import ImgdFleet

/// A core in a fleet that can be used, whose purges are all known.
struct FleetScene {
  let fleet = PlannedFleet()
  let stage: CoreStage

  init(_ settings: String...) throws { try self.init(settings) }

  init(_ settings: [String]) throws {
    stage = try CoreStage(settings, in: fleet)
    fleet.takesPurges = true
    fleet.open()
    stage.settle()
  }

  /// The orders so far, in words.
  var words: [String] { fleet.words }

  var counts: FleetTier.Counts { stage.core.fleet.counts }

  /// Has the core hear of an event.
  func tell(_ event: FleetEvent) {
    fleet.tell(event)
    stage.settle()
  }

  /// Has the core hear an answer to its last look or claim.
  func answer(_ answer: FleetAnswer) { tell(.looked(serial: fleet.lastSerial, answer)) }

  /// What becomes of a fetch, in a word or two.
  func outcome(_ path: String = "/a", _ fields: String = "") throws -> String {
    try stage.outcome(path, fields)
  }

  func origin(_ path: String = "/a") -> Int { stage.origin.count(path) }

  /// Begins a fetch that has to wait.
  func begin(_ path: String = "/a", _ fields: String = "", on other: TestClient? = nil) throws {
    let more = fields.isEmpty ? "" : "," + fields
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN\#(path)"\#(more)}"#, on: other)
  }

  /// Begins a fetch, and has another client put a picture of 900 bytes before the fleet answers.
  func putDuringLook(thatFinds answer: FleetAnswer) throws {
    fleet.plan(.arriving)
    try begin()
    let number = try handedMemory(png(900))
    defer { close(number) }
    let line = try stage.connect().ask(#"{"cmd":"put","url":"\#(stage.origin.url("/a"))"}"#, with: number)
    #expect(line.outcome == "client")
    self.answer(answer)
  }

  /// What another host has stored when it has fetched the path with these fields.
  static func stored(
    _ path: String = "/a", _ fields: String = "", by answer: OriginAnswer
  ) throws -> FleetStore {
    let other = try FleetScene()
    other.stage.origin.plan(path, answer)
    #expect(try other.outcome(path, fields) == "network")
    return try #require(other.fleet.stores.last)
  }

  /// The same, as it is found.
  static func picture(
    _ path: String = "/a", _ fields: String = "", by answer: OriginAnswer = fresh(),
    mark: UInt64 = 0, age: Duration = .zero
  ) throws -> FleetPicture {
    FleetPicture(
      try stored(path, fields, by: answer), mark: PlannedFleet.mark(mark), age: age)
  }

  /// A picture for a thousand seconds, which can be confirmed.
  static func fresh(
    _ bytes: Int = 1_000, _ further: String = "", headers: [(String, String)] = []
  ) -> OriginAnswer {
    .conditional(
      png(bytes), tag: "\"1\"",
      headers: [("Cache-Control", "max-age=1000" + further)] + headers)
  }
}
