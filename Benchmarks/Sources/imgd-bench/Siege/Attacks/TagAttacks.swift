/// What has tags is found by them, however many there are.
enum TagAttacks {
  static let all = [
    Attack(name: "tags", body: tags), Attack(name: "cancel", body: cancel),
    Attack(name: "purge", body: purge),
  ]

  /// Requests that share a download bring 16 tags each, which its picture gets.
  private static func tags(_ siege: Siege) throws(BenchFailure) {
    let count = siege.bench.scaled(9_999, quick: 999)
    let imgd = try siege.daemon()
    let origin = try Origin(siege.bench, delay: 2)
    let attacker = try Besieger(imgd)
    let fetches = (0..<count).map { number in
      let tags = (0..<16).map { #""t\#(number)-\#($0)""# }.joined(separator: ",")
      return Imgd.fetch(origin.url(0), deliver: "none", more: #","tags":[\#(tags)]"#)
    }
    try siege.watch("16 tags × \(count)", on: imgd) { () throws(BenchFailure) in
      try attacker.say(fetches)
      try attacker.receive(lines: count + 1)
      try attacker.say([
        #"{"cmd":"purge","tag":"t0-0"}"#, #"{"cmd":"purge","tag":"none"}"#,
        #"{"cmd":"query","url":"\#(origin.url(0))"}"#,
      ])
    }
    siege.note(attacker)
  }

  /// 64 KB of cancels by tag beside a full queue, which then goes with its client.
  private static func cancel(_ siege: Siege) throws(BenchFailure) {
    let count = siege.bench.scaled(9_999, quick: 999)
    let imgd = try siege.daemon()
    let origin = try Origin(siege.bench, .silent)
    let parts = (0..<10).map { part in
      (0..<count).map { number in
        Imgd.fetch(origin.url(part * count + number), deliver: "none", more: #","tags":["page"]"#)
      }
    }
    let crowd = try Besieger(imgd, connections: parts.count)
    let attacker = try Besieger(imgd)
    let cancels = (0..<2_000).map { #"{"cmd":"cancel","tag":"\#(100_000 + $0)"}"# }
    try siege.watch("cancel of \(10 * count)", on: imgd) { () throws(BenchFailure) in
      try crowd.say(parts: parts)
      try attacker.say(cancels)
      siege.note(crowd)
      crowd.leave()
      try attacker.say([#"{"cmd":"cancel","tag":"page"}"#])
    }
  }

  /// Purges by a tag of one picture, and by one of all.
  private static func purge(_ siege: Siege) throws(BenchFailure) {
    let imgd = try siege.daemon(holding: siege.bench.scaled(130_000, quick: 10_000))
    let attacker = try Besieger(imgd)
    let purges = (0..<9).map { #"{"cmd":"purge","tag":"\#($0)"}"# }
    try siege.watch("purge by tag × 10", on: imgd) { () throws(BenchFailure) in
      try attacker.say(purges + [#"{"cmd":"purge","tag":"all"}"#])
    }
  }
}
