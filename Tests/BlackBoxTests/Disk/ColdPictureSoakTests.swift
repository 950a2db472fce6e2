import ImgdTestSupport
import ImgdWire
import Testing

/// What a new picture costs that is stored in both tiers and asked for by path.
@Suite(.serialized, .slow) struct ColdPictureSoakTests {
  private static let count = 1_000

  private func fetchAll(_ stage: DiskStage, _ round: String) throws {
    let lines = (0..<Self.count).map { number in
      #"{"cmd":"fetch","url":"\#(stage.origin.url("/\(round)\(number)"))","deliver":"path"}"#
    }
    try stage.client.sendRaw(Array((lines.joined(separator: "\n") + "\n").utf8))
    for line in try stage.client.receive(Self.count) {
      #expect(line["path"]?.string != nil, "\(line)")
    }
  }

  @Test(.enabled(if: SystemCallCount.obstacle == nil, "strace is missing"))
  func `a cold picture by path costs few system calls`() throws {
    let stage = try DiskStage("Downloads.MaxActive=16", "Downloads.MaxPerHost=16")
    let body = png(28_000)
    for round in ["warm", "cold"] {
      for number in 0..<Self.count {
        stage.origin.plan("/\(round)\(number)", .picture(body))
      }
    }
    // The subdirectories are there and open afterwards.
    try fetchAll(stage, "warm")
    let calls = try SystemCallCount(of: stage.pid)
    try fetchAll(stage, "cold")
    let counts = calls.end()
    for (thread, most) in [("imgd", 2.0), ("imgd-disk", 8.5), ("imgd-transfer", 7.5)] {
      let own = counts[thread] ?? [:]
      let each = Double(own.values.reduce(0, +)) / Double(Self.count)
      #expect(each > 0 && each <= most, "\(thread): \(own)")
    }
    // None of these is needed for a picture: the directories and the mode are known.
    for call in ["fchmod", "mkdirat", "inotify_add_watch", "memfd_create", "munmap", "fstatfs"] {
      let all = counts.values.reduce(0) { $0 + ($1[call] ?? 0) }
      #expect(all < Self.count / 4, "\(call): \(all)")
    }
  }
}
