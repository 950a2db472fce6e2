import ImgdTestSupport
import Testing

@testable import ImgdDaemon

/// What is left of a core that has ended: nothing may keep it, or one part of it another, for ever.
struct CoreEndTests {
  private struct Part {
    let name: String
    weak var object: AnyObject?
  }

  /// The core and each of its parts.
  private func parts(of stage: CoreStage) -> [Part] {
    let core = stage.core
    let parts = Mirror(reflecting: core.parts).children.map { child in
      Part(name: child.label ?? "", object: child.value as AnyObject)
    }
    return parts + [Part(name: "core", object: core)]
  }

  private func expectFreed(_ parts: [Part]) {
    #expect(parts.filter { $0.object != nil }.map(\.name) == [])
  }

  @Test func `a core that did nothing is freed at its end`() throws {
    let stage = try CoreStage()
    let parts = parts(of: stage)
    #expect(parts.count > 10)
    try stage.restart()
    expectFreed(parts)
  }

  @Test func `a core of a fleet is freed at its end`() throws {
    let stage = try CoreStage(in: PlannedFleet())
    stage.origin.plan("/a", .picture(png()))
    #expect(try stage.outcome("/a") == "network")
    let parts = parts(of: stage)
    try stage.restart()
    expectFreed(parts)
  }

  @Test func `a core is freed with all that waits in it`() throws {
    let stage = try CoreStage("Downloads.MaxActive=2")
    for path in ["/1", "/2", "/3", "/4"] { stage.origin.plan(path, .silence) }
    stage.origin.plan("/a", .picture(png()))
    stage.decoding.isHeld = true
    #expect(try stage.outcome("/a") == "network")
    for line in [
      #"{"cmd":"fetch","url":"ORIGIN/1","id":1}"#,
      #"{"cmd":"fetch","url":"ORIGIN/2","id":2,"timeout_ms":60000}"#,
      #"{"cmd":"fetch","url":"ORIGIN/3","id":3}"#,
      #"{"cmd":"fetch","url":"ORIGIN/a","id":4,"format":"webp"}"#,
      #"{"cmd":"fetch","url":"ORIGIN/4","id":5,"slot":"s"}"#,
    ] { try stage.begin(line) }
    let parts = parts(of: stage)
    try stage.restart()
    expectFreed(parts)
  }
}
