import ImgdTestSupport
import ImgdWire
import Testing

@Suite struct InspectTests {
  @Test func `list shows running and waiting fetches, the oldest first`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1")
    let gate = Gate()
    stage.origin.plan("/a", .body(png(50_000), heldAfter: 10_000, at: gate))
    stage.origin.plan("/b", .picture(png()))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a","progress":true,"slot":"s","tags":["t","u"]}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/b","priority":"high"}"#,
      #"{"cmd":"fetch","id":3,"url":"ORIGIN/b","priority":"low"}"#)
    try stage.play(
      #"""
      < {"id":1,"event":"progress","received":0}
      > {"cmd":"list","id":4}
      < {"id":4,"ok":true,"jobs":[{"receipt":"…","url":"ORIGIN/a","state":"running","priority":"normal","received":"…","expected":50000,"waiters":1,"age_ms":"…","slot":"s","tags":["t","u"],"uid":"…"},{"url":"ORIGIN/b","state":"queued","priority":"high","received":0,"expected":null,"waiters":2,"slot":null,"tags":[]},{"url":"ORIGIN/b","state":"queued","priority":"low","waiters":2}]}
      """#)
    try stage.play(
      #"""
      > {"cmd":"list"}
      < {"ok":true,"jobs":["…","…","…"]}
      """#, on: try stage.connect())
    gate.open()
    #expect(try stage.client.receiveAnswers(3).allSatisfy { $0["ok"] == .bool(true) })
  }

  @Test func `a query counts neither as a use nor as a hit`() throws {
    let stage = try CoreStage(
      "Memory.Capacity=100K", "Memory.Preferred=60K", "Memory.MaxEntry=100K", "Disk.Enabled=no")
    for path in ["/a", "/b", "/c"] { stage.origin.plan(path, .picture(png(40_000))) }
    try stage.fetch("/a")
    try stage.fetch("/b")
    for _ in 0..<5 {
      try stage.play(
        #"""
        > {"cmd":"query","url":"ORIGIN/a"}
        < {"ok":true,"tier":"memory","format":"png","type":"image/png","width":16,"height":16,"frames":1,"bytes":40000,"age":"…","fresh_for":"…","stored":"…","tags":[]}
        """#)
    }
    #expect(try stage.stats("memory", "hits") == 0)
    // Over capacity now: /a was used before /b, and queries do not count.
    try stage.fetch("/c")
    try stage.play(
      #"""
      > {"cmd":"query","url":"ORIGIN/a"}
      < {"ok":true,"tier":"none"}
      > {"cmd":"query","url":"ORIGIN/c"}
      < {"ok":true,"tier":"memory"}
      """#)
    #expect(try stage.stats("memory", "misses") == 3)
  }

  @Test func `entries come in pages without duplicates, whatever changes meanwhile`() throws {
    let stage = try CoreStage()
    for number in 10..<30 {
      stage.origin.plan("/\(number)", .picture(png()))
      try stage.fetch("/\(number)")
    }
    var seen: [String] = []
    var cursor: String?
    repeat {
      let after = cursor.map { #","cursor":"\#($0)""# } ?? ""
      let page = try stage.client.ask(#"{"cmd":"entries","limit":6\#(after)}"#)
      seen += (page["entries"]?.array ?? []).compactMap { $0["url"]?.string }
      cursor = page["cursor"]?.string
      // Uses, goings and comings must not make a page repeat or skip what stays.
      try stage.fetch("/29")
      try stage.play(
        #"""
        > {"cmd":"purge","url":"ORIGIN/10"}
        < {"ok":true}
        """#)
    } while cursor != nil
    #expect(Set(seen).count == seen.count)
    #expect(Set(seen).isSuperset(of: (11..<30).map { stage.base + "/\($0)" }))
  }

  @Test func `entries can be filtered by the beginning of their URL`() throws {
    let stage = try CoreStage()
    for path in ["/x/1", "/x/2", "/y/1"] {
      stage.origin.plan(path, .picture(png()))
      try stage.fetch(path)
    }
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/y/1","identifier":"i","tags":["t"]}
      < {"ok":true}
      > {"cmd":"entries","prefix":"ORIGIN/y/"}
      < {"ok":true,"entries":[{"url":"ORIGIN/y/1","identifier":null,"tags":[]},{"url":"ORIGIN/y/1","identifier":"i","tags":["t"]}]}
      > {"cmd":"entries","prefix":"ORIGIN/z/"}
      < {"ok":true,"entries":[]}
      > {"cmd":"entries","tier":"disk","prefix":"ORIGIN/y/"}
      < {"ok":true,"entries":[{"url":"ORIGIN/y/1","identifier":null,"tags":[]},{"url":"ORIGIN/y/1","identifier":"i","tags":["t"]}],"cursor":null}
      > {"cmd":"entries","limit":0}
      < {"ok":false,"error":{"code":"bad_request","details":{"field":"limit"}}}
      > {"cmd":"entries","cursor":"nonsense"}
      < {"ok":false,"error":{"code":"bad_request"}}
      """#)
  }

  /// The names that may be relied on.
  static let names: [(object: String, fields: [String])] = [
    (
      "memory",
      [
        "bytes", "entries", "capacity", "preferred", "hits", "misses", "insertions",
        "replacements", "evictions", "evicted_bytes", "purges", "lent_bytes",
      ]
    ),
    (
      "disk",
      [
        "bytes", "entries", "capacity", "preferred", "hits", "misses", "insertions",
        "replacements", "evictions", "evicted_bytes", "purges", "lent_bytes", "files",
        "write_errors", "corrupt", "state",
      ]
    ),
    (
      "downloads",
      [
        "active", "queued", "max_active", "peak_active", "started", "completed", "failed",
        "cancelled", "coalesced", "retries", "revalidated", "bytes_received",
      ]
    ),
    ("decode", ["workers", "sandbox"]),
    ("clients", ["connected", "accepted", "rejected", "commands", "errors", "slow_closed"]),
    ("latency_us", ["hit", "fetch"]),
    ("pressure", ["source", "events", "last", "removed_bytes"]),
    ("process", ["version", "pid", "uptime_s", "rss_bytes", "open_fds"]),
  ]

  @Test func `stats has every documented name`() throws {
    let stage = try CoreStage()
    let stats = try stage.client.ask(#"{"cmd":"stats"}"#)
    for (object, fields) in Self.names {
      for field in fields { #expect(stats[object]?[field] != nil, "\(object).\(field)") }
    }
    for field in ["count", "p50", "p90", "p99", "max"] {
      #expect(
        stats["latency_us"]?["hit"]?[field] != nil && stats["latency_us"]?["fetch"]?[field] != nil)
    }
  }

  @Test func `the counters agree with what happened`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .picture(png(1_000)))
    stage.origin.plan("/b", .held(at: gate, then: .picture(png(2_000))))
    stage.origin.plan("/c", .silence)
    try stage.fetch("/a")
    try stage.fetch("/a")
    try stage.fetch("/a")
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/b"}"#, #"{"cmd":"fetch","id":2,"url":"ORIGIN/b"}"#)
    gate.open()
    _ = try stage.client.receive(2)
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/none"}
      < {"ok":false}
      > {"cmd":"fetch","url":"ORIGIN/c"}
      > {"cmd":"cancel","all":true}
      < {"ok":false}
      < {"ok":true}
      > {"cmd":"nonsense"}
      < {"ok":false}
      > {"cmd":"stats"}
      < {"ok":true,"memory":{"entries":2,"hits":2,"misses":5,"insertions":2,"replacements":0,"evictions":0},"downloads":{"active":0,"queued":0,"started":4,"completed":2,"failed":1,"cancelled":1,"coalesced":1,"retries":0,"bytes_received":3000,"peak_active":1},"clients":{"connected":1}}
      """#)
    let stats = try stage.client.ask(#"{"cmd":"stats"}"#)
    #expect(stats["latency_us"]?["hit"]?["count"] == .integer(2))
    #expect(stats["latency_us"]?["fetch"]?["count"] == .integer(3))
  }
}
