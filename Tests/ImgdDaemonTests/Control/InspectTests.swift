import ImgdTestSupport
import ImgdWire
import Testing

struct InspectTests {
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

  @Test func `a list is as long as asked for, and goes on after its cursor`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1")
    stage.origin.plan("/0", .held(at: Gate(), then: .picture(png())))
    for number in 0..<5 {
      try stage.begin(
        #"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/\#(number)","slot":"\#(number)"}"#)
    }
    try stage.play(
      #"""
      > {"cmd":"list","limit":3}
      < {"ok":true,"jobs":[{"url":"ORIGIN/0"},{"url":"ORIGIN/1"},{"url":"ORIGIN/2"}],"cursor":"3"}
      > {"cmd":"cancel","slot":"3"}
      < {"ok":false,"error":{"code":"cancelled"}}
      < {"ok":true,"cancelled":1}
      > {"cmd":"list","limit":3,"cursor":"3"}
      < {"ok":true,"jobs":[{"url":"ORIGIN/4"}],"cursor":null}
      > {"cmd":"slots","limit":2,"cursor":"2"}
      < {"ok":true,"slots":[{"slot":"3","state":"cancelled"},{"slot":"4","state":"queued"}],"cursor":null}
      > {"cmd":"list","cursor":"x"}
      < {"ok":false,"error":{"code":"bad_request","details":{"field":"cursor"}}}
      """#)
  }

  @Test func `no list is longer than what a client may leave unread`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1")
    stage.origin.plan("/0", .held(at: Gate(), then: .picture(png())))
    let long = String(repeating: "x", count: 8_000)
    let lines = (0..<100).map { #"{"cmd":"fetch","url":"\#(stage.base)/\#($0)?\#(long)"}"# }
    try stage.client.send(#"{"cmd":"fetch","url":"\#(stage.base)/0"}"#)
    try stage.client.send(lines.joined(separator: "\n"))
    stage.settle()
    let observer = try stage.connect()
    var (count, pages, cursor) = (0, 0, "")
    while true {
      try observer.send(#"{"cmd":"list"\#(cursor)}"#)
      let line = try observer.receiveLine()
      #expect(line.count < 400 * 1024)
      let page = try JSONValue(parsing: line.span)
      count += page["jobs"]?.array?.count ?? 0
      pages += 1
      guard let next = page["cursor"]?.string else { break }
      cursor = #","cursor":"\#(next)""#
    }
    #expect(count == 101)
    #expect(pages > 2)
  }

  @Test func `stats shows who holds how much`() throws {
    let stage = try CoreStage("Downloads.MaxActive=1")
    stage.origin.plan("/a", .picture(png(50_000)))
    stage.origin.plan("/held", .held(at: Gate(), then: .picture(png())))
    try stage.fetch("/a")
    let before = try stage.stats("held", "requests")
    let filler = String(repeating: "x", count: 40_000)
    try stage.begin(
      #"{"cmd":"fetch","url":"ORIGIN/held"}"#,
      #"{"cmd":"fetch","url":"ORIGIN/b","headers":{"A":"\#(filler)"}}"#)
    // In one piece, so that the line is still being read when it is answered.
    let answer = try stage.client.ask(#"{"cmd":"ping"}"# + "\n" + #"{"cmd":"stats"}"#)
    #expect(answer["ok"]?.bool == true)
    let held = try #require(try stage.client.receive()["held"])
    let names = [
      "base", "pictures", "variants", "failures", "requests", "outcomes", "clients", "transfers",
      "disk", "unused",
    ]
    let sum = names.reduce(0) { $0 + (held[$1]?.integer ?? -1) }
    #expect(held["total"]?.integer == sum)
    #expect((held["pictures"]?.integer ?? 0) >= 50_000)
    #expect(Int(held["requests"]?.integer ?? 0) >= before + 40_000)
  }

  @Test func `eight stats in a tenth of a second have new sizes`() throws {
    let stage = try CoreStage()
    let holding = try (0..<8).map { _ in try stage.connect() }
    var held = try stage.stats("held", "clients")
    for client in holding.prefix(7) {
      try client.sendRaw([UInt8](repeating: 0x78, count: 10_000))
      let more = try stage.stats("held", "clients")
      #expect(more > held)
      held = more
    }
    try holding[7].sendRaw([UInt8](repeating: 0x78, count: 10_000))
    #expect(try stage.stats("held", "clients") == held)
    stage.jump(.milliseconds(100))
    #expect(try stage.stats("held", "clients") > held)
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

  @Test func `entries can be filtered by a part of their URL, and by the whole of it`() throws {
    let stage = try CoreStage()
    for path in ["/x/1", "/x/2", "/y/Number1"] {
      stage.origin.plan(path, .picture(png()))
      try stage.fetch(path)
    }
    for tier in ["memory", "disk"] {
      try stage.play(
        #"""
        > {"cmd":"entries","tier":"\#(tier)","contains":"/Y/num"}
        < {"ok":true,"entries":[{"url":"ORIGIN/y/Number1"}],"cursor":null}
        > {"cmd":"entries","tier":"\#(tier)","prefix":"ORIGIN/x","contains":"/2"}
        < {"ok":true,"entries":[{"url":"ORIGIN/x/2"}]}
        > {"cmd":"entries","tier":"\#(tier)","url":"ORIGIN/x/1"}
        < {"ok":true,"entries":[{"url":"ORIGIN/x/1"}]}
        > {"cmd":"entries","tier":"\#(tier)","url":"ORIGIN/x"}
        < {"ok":true,"entries":[]}
        """#)
    }
    try stage.play(
      #"""
      > {"cmd":"entries","contains":""}
      < {"ok":false,"error":{"code":"bad_request","details":{"field":"contains"}}}
      > {"cmd":"entries","url":"http://"}
      < {"ok":false,"error":{"code":"bad_url"}}
      """#)
  }

  /// The names that may be relied on.
  static let names: [(object: String, fields: [String])] = [
    (
      "memory",
      [
        "bytes", "entries", "capacity", "configured", "preferred", "hits", "misses", "insertions",
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
        "active", "slow", "queued", "max_active", "peak_active", "started", "completed", "failed",
        "cancelled", "coalesced", "retries", "revalidated", "bytes_received", "connections", "connections_opened",
        "connections_reused", "tls_handshakes", "tls_resumed",
      ]
    ),
    ("queue", ["requests", "bytes"]),
    ("decode", ["workers", "max_workers", "sandbox"]),
    ("clients", ["connected", "accepted", "rejected", "commands", "errors", "slow_closed"]),
    ("latency_us", ["hit", "fetch", "download_wait", "download", "decode_wait", "decode"]),
    ("pressure", ["source", "events", "last", "removed_bytes"]),
    ("process", ["version", "pid", "uptime_s", "rss_bytes", "open_fds"]),
  ]

  @Test func `stats has every documented name`() throws {
    let stage = try CoreStage()
    let stats = try stage.client.ask(#"{"cmd":"stats"}"#)
    for (object, fields) in Self.names {
      for field in fields { #expect(stats[object]?[field] != nil, "\(object).\(field)") }
    }
    for field in ["count", "sum", "p50", "p90", "p99", "max", "buckets"] {
      for kind in ["hit", "fetch", "download_wait", "download", "decode_wait", "decode"] {
        #expect(stats["latency_us"]?[kind]?[field] != nil, "\(kind).\(field)")
      }
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
    // The one that was cancelled has begun, and has not ended.
    #expect(stats["latency_us"]?["download_wait"]?["count"] == .integer(4))
    #expect(stats["latency_us"]?["download"]?["count"] == .integer(3))
  }
}
