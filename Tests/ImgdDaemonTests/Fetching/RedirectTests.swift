import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

@testable import ImgdDaemon

/// A redirect is one hop; what it leads to is looked up as a URL of its own.
struct RedirectTests {
  @Test(arguments: ["", #""detach":true"#, #""detach":true,"cache":"force-cache""#])
  func `a remembered redirect is followed uncounted, in every way`(fields: String) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: "/b", status: 301))
    stage.origin.plan("/b", .picture(png(), headers: fresh))
    try stage.ask("/a")
    // The redirect and the picture: the origin was asked for both.
    let counts = { try ["hits", "misses"].map { try stage.stats("memory", $0) } }
    #expect(try counts() == [0, 2])
    let misses = try stage.stats("disk", "misses")
    for number in 1...2 {
      #expect(try stage.ask("/a", fields).outcome == "memory")
      #expect(try counts() == [number, 2])
    }
    #expect(try stage.stats("disk", "misses") == misses)
  }

  private let fresh = [("Cache-Control", "max-age=1000")]

  @Test func `what a redirect leads to is a picture of its own`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: "/b"))
    stage.origin.plan("/b", .picture(png(), headers: fresh))
    let line = try stage.ask("/a")
    #expect(line.outcome == "network")
    #expect(line["url"]?.string == stage.base + "/a")
    #expect(line["final_url"]?.string == stage.base + "/b")
    #expect(try stage.ask("/b").outcome == "memory")
    #expect(try stage.ask("/b")["final_url"] == nil)
    #expect(stage.origin.count("/b") == 1)
  }

  @Test(arguments: HitTier.allCases)
  func `a picture that is there is not fetched again for a redirect to it`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: "/b"))
    stage.origin.plan("/b", .picture(png(), headers: fresh))
    try stage.ask("/b")
    try stage.leave(in: tier)
    let line = try stage.ask("/a")
    #expect(line.outcome == tier.rawValue)
    #expect(line["final_url"]?.string == stage.base + "/b")
    #expect(stage.origin.count("/a") == 1)
    #expect(stage.origin.count("/b") == 1)
  }

  @Test(arguments: HitTier.allCases)
  func `a redirected picture is found again under its own URL`(tier: HitTier) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: "/b", status: 301))
    stage.origin.plan("/b", .picture(png(), headers: fresh))
    try stage.ask("/a")
    try stage.leave(in: tier)
    let line = try stage.ask("/a")
    #expect(line.outcome == tier.rawValue)
    #expect(line["final_url"]?.string == stage.base + "/b")
    // A redirect is remembered in memory.
    #expect(stage.origin.count("/a") == (tier == .memory ? 1 : 2))
    #expect(stage.origin.count("/b") == 1)
    #expect(try stage.tier(of: "/a") == "none")
  }

  @Test func `a confirmation after a redirect counts as one`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: "/b"))
    stage.origin.plan(
      "/b", .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=0")]))
    try stage.ask("/a")
    let line = try stage.ask("/a")
    #expect(line.outcome == "revalidated")
    #expect(line["final_url"]?.string == stage.base + "/b")
  }

  @Test func `two that are redirected to one picture share its download`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .redirect(to: "/c"))
    stage.origin.plan("/b", .redirect(to: "/c"))
    stage.origin.plan("/c", .held(at: gate, then: .picture(png())))
    try stage.client.send(#"{"cmd":"fetch","id":1,"url":"\#(stage.base)/a"}"#)
    try stage.client.send(#"{"cmd":"fetch","id":2,"url":"\#(stage.base)/b"}"#)
    stage.settle()
    gate.open()
    let lines = try stage.client.receive(2)
    #expect(lines.allSatisfy { $0["final_url"]?.string == stage.base + "/c" })
    #expect(stage.origin.count("/c") == 1)
  }

  @Test func `redirects end at the limit, which is named`() throws {
    let stage = try CoreStage("Downloads.MaxRedirects=3")
    for number in 1...4 { stage.origin.plan("/\(number)", .redirect(to: "/\(number + 1)")) }
    stage.origin.plan("/5", .picture(png()))
    let line = try stage.ask("/1")
    #expect(line.outcome == "too_many_redirects")
    #expect(line["error"]?["details"]?["limit"]?.integer == 3)
    #expect(stage.origin.count("/5") == 0)
    #expect(try stage.ask("/2")["ok"] == .bool(true))
  }

  @Test(arguments: [["/a"], ["/a", "/b"]])
  func `a circle ends at the limit, even one of a single URL`(circle: [String]) throws {
    let stage = try CoreStage("Downloads.MaxRedirects=3")
    for (from, to) in zip(circle, circle.dropFirst() + ["/a"]) {
      stage.origin.plan(from, .redirect(to: to))
    }
    #expect(try stage.ask("/a").outcome == "too_many_redirects")
    #expect(stage.origin.requests.count == 4)
  }

  @Test func `behind a public address only public ones are asked`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .redirect(to: stage.origin.url("/b", host: "other.org")))
    stage.origin.plan("/b", .redirect(to: "/c"))
    stage.origin.plan("/c", .picture(png()))
    let url = stage.origin.url("/a", host: "public.org")
    _ = try stage.client.ask(#"{"cmd":"fetch","url":"\#(url)"}"#)
    #expect(stage.origin.orders.map(\.isAfterPublic) == [false, true, true])
  }

  @Test func `a request that came by a public address is not shared with one that did not`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .redirect(to: stage.origin.url("/b")))
    stage.origin.plan("/b", .held(at: gate, then: .picture(png())))
    let url = stage.origin.url("/a", host: "public.org")
    try stage.client.send(#"{"cmd":"fetch","id":1,"url":"\#(url)"}"#)
    stage.settle()
    try stage.client.send(#"{"cmd":"fetch","id":2,"url":"\#(stage.base)/b"}"#)
    stage.settle()
    gate.open()
    #expect(try stage.client.receive(2).allSatisfy { $0["ok"] == .bool(true) })
    #expect(stage.origin.orders.map(\.isAfterPublic) == [false, true, false])
  }

  @Test func `a hundred who wait for a redirect all get the picture`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .redirect(to: "/b")))
    stage.origin.plan("/b", .picture(png()))
    for id in 0..<100 {
      try stage.client.send(#"{"cmd":"fetch","id":\#(id),"url":"\#(stage.base)/a"}"#)
    }
    stage.settle()
    gate.open()
    let lines = try stage.client.receive(100)
    #expect(lines.allSatisfy { $0["final_url"]?.string == stage.base + "/b" })
    #expect(stage.origin.requests.map(\.path) == ["/a", "/b"])
  }

  @Test func `a fetch that was redirected goes on before its connection's other ones`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1")
    stage.origin.plan("/a", .redirect(to: "/b"))
    for path in ["/b", "/c", "/d"] { stage.origin.plan(path, .picture(png())) }
    for path in ["/a", "/c", "/d"] {
      try stage.client.send(#"{"cmd":"fetch","url":"\#(stage.base)\#(path)"}"#)
    }
    _ = try stage.client.receive(3)
    #expect(stage.origin.requests.map(\.path) == ["/a", "/b", "/c", "/d"])
  }

  @Test func `a cancelled fetch is not redirected`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .redirect(to: "/b")))
    stage.origin.plan("/b", .picture(png()))
    let receipt = "00000000-0000-4000-8000-000000000001"
    try stage.client.send(
      #"{"cmd":"fetch","id":1,"url":"\#(stage.base)/a","receipt":"\#(receipt)"}"#)
    stage.settle()
    try stage.client.send(#"{"cmd":"cancel","id":2,"receipt":"\#(receipt)"}"#)
    _ = try stage.client.receive(2)
    gate.open()
    stage.settle()
    #expect(stage.origin.count("/b") == 0)
  }
}
