import ImgdTestSupport
import ImgdWire
import Testing

/// Thumbnails of more pictures than there is room for on disk.
struct GalleryTests {
  private static let count = 60
  private static let form = #""resize":{"width":8,"height":8},"deliver":"inline""#
  private static let smaller = #""resize":{"width":4,"height":4},"deliver":"inline""#

  private let stage: DiskStage

  init() throws {
    stage = try DiskStage(
      "Memory.Capacity=0", "Disk.Capacity=1M", "Disk.TrimTo=90%", "Disk.Lease=0s")
    for number in 0..<Self.count {
      stage.origin.plan(
        Self.path(number),
        .conditional(
          TestPicture.jpeg(bytes: 64 << 10, seed: UInt64(number)), tag: "\"\(number)\"",
          headers: [("Cache-Control", "max-age=3600")]))
    }
  }

  private static func path(_ number: Int) -> String { "/\(number % 2)/\(number)" }

  private func thumbnail(_ number: Int, _ fields: String = "") throws -> JSONValue {
    try stage.fetch(Self.path(number), Self.form + #","tags":["odd \#(number % 2)"]"# + fields)
  }

  /// The thumbnails of all pictures, which must come from there.
  private func thumbnails(from source: String) throws -> [String?] {
    try (0..<Self.count).map { number in
      let line = try thumbnail(number)
      #expect(line["source"]?.string == source, "\(number)")
      return line["data"]?.string
    }
  }

  private func requests() -> Int { stage.origin.requests.count }

  @Test func `are downloaded once, confirmed without their pictures, and purged with them`() throws {
    let first = try thumbnails(from: "network")
    #expect(Set(first).count > 1 && requests() == Self.count)
    for isKill in [false, true, true] {
      if isKill { try stage.crash() } else { try stage.restart() }
      #expect(try thumbnails(from: "disk") == first)
    }
    #expect(requests() == Self.count)
    let disk = try stage.ask(#"{"cmd":"stats"}"#)["disk"]
    #expect(disk?["bytes"]?.integer ?? .max <= 1 << 20)
    #expect(disk?["records"]?.integer ?? 0 > Int64(Self.count / 2))

    // Smaller ones are made of them.
    for number in 0..<Self.count {
      let line = try stage.fetch(Self.path(number), Self.smaller)
      #expect(line["source"]?.string == "disk" && line["width"]?.integer == 4)
      #expect(line["height"]?.integer == 4 && line["format"]?.string == "jpeg")
    }
    #expect(requests() == Self.count)

    try stage.purge(#""host":"127.0.0.1","soft":true"#)
    try stage.crash()
    #expect(try thumbnails(from: "revalidated") == first)
    #expect(requests() == 2 * Self.count)
    let downloads = try stage.ask(#"{"cmd":"stats"}"#)["downloads"]
    #expect(downloads?["revalidated"]?.integer == Int64(Self.count))
    #expect(downloads?["bytes_received"]?.integer == 0)

    // A third by URL, the rest of the even ones by prefix, the odd ones by their tag.
    for number in stride(from: 0, to: Self.count, by: 3) {
      #expect(try stage.purge(#""url":"ORIGIN\#(Self.path(number))""#) == 3)
    }
    try stage.crash()
    try stage.purge(#""prefix":"ORIGIN/0/""#)
    try stage.purge(#""tag":"odd 1""#)
    try stage.crash()
    #expect(try stage.ask(#"{"cmd":"stats"}"#)["disk"]?["entries"]?.integer == 0)
    #expect(try becomes { stage.files.isEmpty })
    for number in [0, 1, 2] {
      let line = try stage.ask(
        DiskStage.request(Self.path(number), Self.form + #","cache":"only-if-cached""#))
      #expect(line.failureCode == "not_cached")
    }
  }
}
