import Glibc

/// Thumbnails of more pictures than there is room for: of each the picture is downloaded once, whatever becomes of its
/// bytes, of the daemon, and of the time for which its origin has granted it.
enum Gallery {
  static func run(_ bench: Bench) throws(BenchFailure) {
    let wall = try Wall(bench, bench.scaled(1_000, quick: 40))
    try wall.fill()
    try wall.showAgain()
    try wall.showSmaller()
    try wall.confirm()
    try wall.kill(bench.scaled(100, quick: 5))
    try wall.purge()
  }
}

/// The pictures of an origin, and a daemon with little room that shows their thumbnails.
private final class Wall {
  private static let thumbnail = #","format":"jpeg","resize":{"width":160,"height":120}"#
  private static let smaller = #","format":"jpeg","resize":{"width":80,"height":60}"#
  private static let capacity = 200 << 20
  /// So many pictures may wait for decoders at once.
  private static let atOnce = 40
  private static let pictureBytes = 2_000_000

  private let bench: Bench
  private let origin: Nginx
  private let urls: [String]
  private let cache: String
  private var imgd: Imgd
  /// The thumbnails as they were made of the pictures that were downloaded first, in base64.
  private var first: [String] = []

  init(_ bench: Bench, _ count: Int) throws(BenchFailure) {
    self.bench = bench
    origin = try Nginx(bench, place: .anywhere)
    let drawn = try PictureSet(
      bench, origin, "pictures", .jpeg, count: min(count, 100), width: 2_000, height: 1_500,
      bytes: Self.pictureBytes)
    try File.makeDirectory(origin.directory + "/wall")
    var urls: [String] = []
    for number in 0..<count {
      let name = "wall/\(100_000 + number).jpg"
      let picture = drawn.paths[number % drawn.paths.count]
      guard unsafe link(picture, origin.directory + "/" + name) == 0 else {
        throw .system("link", picture)
      }
      urls.append(origin.url("counted/" + name))
    }
    self.urls = urls
    cache = bench.path("cache")
    imgd = try Self.start(bench, cache)
  }

  private static func start(_ bench: Bench, _ cache: String) throws(BenchFailure) -> Imgd {
    try Imgd(
      bench, place: .anywhere,
      settings: [
        "Memory.Capacity=16M", "Disk.Capacity=\(capacity)", "Disk.MinFree=0", "Disk.Lease=0s",
        "Downloads.MaxActive=16", "Downloads.MaxPerHost=16",
      ], cache: cache)
  }

  // MARK: Steps

  func fill() throws(BenchFailure) {
    let begun = now()
    try fetchAll(Self.thumbnail)
    tell("made of \(Self.pictureBytes / 1_000_000) MB each", urls.count, "1/s", of: now() - begun)
    try restart()
    first = try thumbnails()
  }

  func showAgain() throws(BenchFailure) {
    try restart()
    let before = origin.counted
    var fromDisk = 0
    for (number, url) in urls.enumerated() {
      let line = try fetch(url, Self.thumbnail)
      if line.contains(#""source":"disk""#) { fromDisk += 1 }
      try compare(line, number)
    }
    tell("again after a restart, at the origin", origin.counted - before, of: urls.count, .atMost(0))
    tell("the same, from disk", fromDisk, of: urls.count, .atLeast(0.99))
    tell("bytes on disk", try imgd.stat("disk", "bytes"), of: Self.capacity, .atMost(1))
  }

  func showSmaller() throws(BenchFailure) {
    let before = origin.counted
    try fetchAll(Self.smaller)
    tell("half as large, at the origin", origin.counted - before, of: urls.count, .atMost(0))
  }

  func confirm() throws(BenchFailure) {
    try imgd.expect(#"{"cmd":"purge","host":"127.0.0.1","soft":true}"#)
    try restart()
    let (before, confirmed) = (origin.counted, origin.counted(status: 304))
    for (number, url) in urls.enumerated() {
      try compare(try fetch(url, Self.thumbnail), number)
    }
    tell("marked stale, at the origin", origin.counted - before, of: urls.count, .atMost(1))
    tell(
      "the same, answered by 304", origin.counted(status: 304) - confirmed, of: urls.count,
      .atLeast(1))
    tell("bytes received", try imgd.stat("downloads", "bytes_received"), of: 1 << 20, .atMost(1))
  }

  /// Each life of the daemon shows some thumbnails, loses some, and ends while it stores them anew.
  func kill(_ count: Int) throws(BenchFailure) {
    var wrong = 0
    var random = SystemRandomNumberGenerator()
    for _ in 0..<count {
      imgd.child.kill()
      imgd = try Self.start(bench, cache)
      for number in (0..<20).map({ _ in Int.random(in: urls.indices, using: &random) }) {
        if try !isAsFirst(try fetch(urls[number], Self.thumbnail), number) { wrong += 1 }
      }
      let lost = urls.shuffled(using: &random).prefix(5)
      for url in lost { try imgd.expect(#"{"cmd":"purge","url":"\#(url)"}"#) }
      try imgd.fetchAll(Array(lost), more: Self.thumbnail)
    }
    try restart()
    for (number, url) in urls.enumerated() {
      if try !isAsFirst(try fetch(url, Self.thumbnail), number) { wrong += 1 }
    }
    tell("of other bytes after \(count) kills", wrong, of: urls.count, .atMost(0))
  }

  /// Some by the beginning of their URLs, some by their tag, the others one by one.
  func purge() throws(BenchFailure) {
    for (number, url) in urls.enumerated() where number % 2 == 1 {
      _ = try fetch(url, Self.thumbnail + #","tags":["odd"],"cache":"no-cache""#)
    }
    try imgd.expect(#"{"cmd":"purge","tag":"odd"}"#)
    let beginning = String(urls[0].dropLast("0.jpg".count))
    try imgd.expect(#"{"cmd":"purge","prefix":"\#(beginning)"}"#)
    for (number, url) in urls.enumerated() where number % 2 == 0 && !url.hasPrefix(beginning) {
      try imgd.expect(#"{"cmd":"purge","url":"\#(url)"}"#)
    }
    let left = try imgd.stat("disk", "entries") + imgd.stat("memory", "entries")
    tell("entries after purges of all", left, of: urls.count, .atMost(0))
    tell("bytes then", try imgd.stat("disk", "bytes"), of: Self.capacity, .atMost(0))
  }

  // MARK: Parts of steps

  private func restart() throws(BenchFailure) {
    imgd.child.end()
    imgd = try Self.start(bench, cache)
    try imgd.awaitLoaded()
  }

  private func fetch(_ url: String, _ form: String) throws(BenchFailure) -> String {
    try imgd.expect(Imgd.fetch(url, deliver: "inline", more: form))
  }

  private func fetchAll(_ form: String) throws(BenchFailure) {
    for start in stride(from: 0, to: urls.count, by: Self.atOnce) {
      let some = urls[start..<min(start + Self.atOnce, urls.count)]
      try imgd.fetchAll(Array(some), more: form)
    }
  }

  private func thumbnails() throws(BenchFailure) -> [String] {
    var all: [String] = []
    for url in urls { all.append(try Self.content(of: try fetch(url, Self.thumbnail))) }
    return all
  }

  private static func content(of line: String) throws(BenchFailure) -> String {
    guard let rest = line.after(#""data":""#) else { throw .unavailable("no picture: \(line)") }
    return String(rest.prefix { $0 != "\"" })
  }

  private func isAsFirst(_ line: String, _ number: Int) throws(BenchFailure) -> Bool {
    try Self.content(of: line) == first[number]
  }

  private func compare(_ line: String, _ number: Int) throws(BenchFailure) {
    guard try isAsFirst(line, number) else {
      throw .unavailable("\(urls[number]) is shown as another picture")
    }
  }

  private func tell(_ what: String, _ count: Int, _ unit: String, of seconds: Double) {
    bench.report.add(
      Row(
        what: what, figure: Figure(Double(count) / seconds, unit), peer: "", ratios: Ratios([])))
  }

  private func tell(_ what: String, _ figure: Int, of whole: Int, _ budget: Budget) {
    bench.report.add(
      Row(
        what: what, figure: Figure(Double(figure), ""), peer: "of \(whole)",
        ratios: Ratios([Double(figure) / Double(whole)]), budget: budget))
  }
}
