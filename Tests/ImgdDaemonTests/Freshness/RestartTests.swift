import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

/// Properties of a picture by HTTP outlive the process that received them.
struct RestartTests {
  private static let stale = ("Cache-Control", "max-age=0")

  @Test func `a lifetime continues after a restart`() throws {
    let stage = try CoreStage()
    for (number, row) in LifetimeTests.rows.enumerated() {
      stage.origin.plan("/\(number)", .picture(png(), headers: row.headers))
      try stage.ask("/\(number)", row.fields)
    }
    try stage.restart()
    let client = try stage.connect()
    for (number, row) in LifetimeTests.rows.enumerated() {
      let outcome = try stage.outcome("/\(number)", on: client)
      #expect(outcome == (row.isHit ? "disk" : "network"), "\(row)")
    }
  }

  @Test func `a confirmation is kept after a restart`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a", .conditional(png(), tag: "\"1\"", headers: [Self.stale, ("X-N", "1")]),
      .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=500"), ("X-N", "2")]))
    let path = try stage.fetch("/a")["path"]
    let renewed = try stage.ask("/a", #""http":true"#)
    try stage.restart()
    let line = try stage.ask("/a", #""http":true"#, on: stage.connect())
    #expect(line.outcome == "disk")
    #expect(line["http"] == renewed["http"] && line.header("x-n") == "2")
    #expect(line["path"] == path && path?.string != nil)
    #expect((400...500).contains(line["fresh_for"]?.integer ?? 0))
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `a stale picture is confirmed after a restart`() throws {
    let stage = try CoreStage()
    let date = "Tue, 01 Jul 2025 10:00:00 GMT"
    let table: [(path: String, headers: [(String, String)], asked: String)] = [
      ("/tag", [("ETag", "\"1\""), Self.stale], "if-none-match"),
      ("/date", [("Last-Modified", date), Self.stale], "if-modified-since"),
      ("/no-cache", [("ETag", "\"1\""), ("Cache-Control", "no-cache")], "if-none-match"),
    ]
    for row in table {
      stage.origin.plan(
        row.path, .picture(png(), headers: row.headers), .status(304, headers: row.headers))
      try stage.fetch(row.path)
    }
    try stage.restart()
    let client = try stage.connect()
    for row in table {
      #expect(try stage.outcome(row.path, on: client) == "revalidated")
      let request = stage.origin.requests(row.path).last
      #expect(request?.header(row.asked) == row.headers[0].1, "\(row.path)")
    }
  }

  @Test func `the time for stale delivery continues after a restart`() throws {
    let stage = try CoreStage("HTTP.StaleIfError=1h")
    let table: [(path: String, control: String, outcome: String)] = [
      ("/rule", "max-age=0", "disk stale"),
      ("/grant", "max-age=0, stale-if-error=1000", "disk stale"),
      ("/none", "max-age=0, stale-if-error=0", "connect"),
      ("/must", "max-age=0, must-revalidate", "connect"), ("/no-cache", "no-cache", "connect"),
      ("/meanwhile", "max-age=0, stale-while-revalidate=1000", "disk stale"),
    ]
    for row in table {
      stage.origin.plan(row.path, .picture(png(), headers: [("Cache-Control", row.control)]))
      try stage.fetch(row.path)
    }
    for row in table { stage.origin.plan(row.path, .fails(.connect)) }
    try stage.restart()
    let client = try stage.connect()
    for row in table {
      #expect(try stage.outcome(row.path, on: client) == row.outcome, "\(row.path)")
    }
  }

  @Test func `an answer that varies on headers is found after a restart`() throws {
    let stage = try CoreStage()
    let headers = [("Vary", "Accept-Language, X-Nobody"), ("Cache-Control", "max-age=1000")]
    let german = #""headers":{"Accept-Language":"de"}"#
    for path in ["/a", "/b", "/c"] {
      stage.origin.plan(path, .picture(png(), headers: headers))
      try stage.ask(path, german)
    }
    try stage.restart()
    let client = try stage.connect()
    #expect(try stage.outcome("/a", german, on: client) == "disk")
    #expect(try stage.outcome("/b", on: client) == "network")
    let french = #""headers":{"Accept-Language":"fr"}"#
    #expect(try stage.outcome("/c", french, on: client) == "network")
  }

  @Test func `failures and pictures with credentials are dropped at the end`() throws {
    let stage = try CoreStage()
    let secret = #""headers":{"Authorization":"a"}"#
    stage.origin.plan("/missing", .status(404))
    stage.origin.plan("/secret", .picture(png()))
    try stage.ask("/missing")
    try stage.ask("/secret", secret)
    try stage.restart()
    let client = try stage.connect()
    #expect(try stage.outcome("/missing", on: client) == "http_status")
    #expect(try stage.outcome("/secret", secret, on: client) == "network")
  }
}
