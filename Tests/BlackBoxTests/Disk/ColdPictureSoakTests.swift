import Glibc
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
    // The index is written once for as many pictures as have come meanwhile, which depends on the machine: a
    // commit, which looks for room first, has calls of its own.
    let commits = counts["imgd-disk"]?["fstatfs"] ?? 0
    for (thread, each, commit) in [
      ("imgd", 2.0, 0.0), ("imgd-disk", 7.7, 30), ("imgd-transfer", 7.5, 0),
    ] {
      let own = counts[thread] ?? [:]
      let calls = Double(own.values.reduce(0, +))
      let most = each * Double(Self.count) + commit * Double(commits)
      #expect(calls > 0 && calls <= most, "\(thread): \(own)")
    }
    // None of these is needed for a picture: the directories and the mode are known.
    for call in ["fchmod", "mkdirat", "inotify_add_watch", "memfd_create", "munmap", "fstatfs"] {
      let all = counts.values.reduce(0) { $0 + ($1[call] ?? 0) }
      #expect(all < Self.count / 4, "\(call): \(all)")
    }
  }

  // MARK: Counts of a release build

  /// All threads, outside the kernel. On a busy machine fewer pictures share a tick and a commit: 8 % more than on
  /// an idle one were counted. The limit is a little above that; a change that makes a picture cheaper lowers it.
  @Test(.enabled(if: ColdInstructions.obstacle == nil, "valgrind or strip is missing"))
  func `a cold picture by path costs few instructions`() throws {
    let few = try ColdInstructions.of(300)
    let many = try ColdInstructions.of(900)
    let each = (many - few) / 600
    #expect((1...560_000).contains(each), "\(each) instructions")
  }

  @Test(.enabled(if: ColdAllocations.obstacle == nil, "cc is missing"))
  func `a cold picture by path costs few allocations`() throws {
    let allocations = try ColdAllocations()
    try allocations.run.fetch(300)
    let before = try allocations.count
    try allocations.run.fetch(600)
    let each = try Double(allocations.count - before) / 600
    #expect(each > 0 && each <= 225, "\(each) allocations")
  }
}

/// The instructions of a daemon from its start to its end, counted by callgrind.
private enum ColdInstructions {
  private static let (valgrind, strip) = ("/usr/bin/valgrind", "/usr/bin/strip")

  /// Why nothing can be counted here; nil when it can.
  static var obstacle: String? {
    [valgrind, strip].first { (path: String) in access(path, X_OK) != 0 }.map { "\($0) is missing" }
  }

  static func of(_ pictures: Int) throws -> Int {
    let run = try ColdRun({ home in
      // valgrind does not know what Swift says for debuggers, and gives up.
      let program = home + "/imgd"
      let stripped = try ChildProcess.run(strip, ["--strip-debug", "-o", program, ColdRun.product])
      guard stripped.code == 0 else { throw TestFailure("strip: \(stripped.output)") }
      return [valgrind, "--tool=callgrind", "--callgrind-out-file=\(home)/counts", program]
    })
    try run.fetch(pictures)
    try run.stop()
    let lines = (read(run.home + "/counts") ?? "").split(separator: "\n")
    guard let line = lines.last(where: { $0.hasPrefix("totals: ") }),
      let count = Int(line.dropFirst(8))
    else { throw TestFailure("callgrind has counted nothing") }
    return count
  }
}

/// The allocations of a daemon, counted by a library that is preloaded.
private struct ColdAllocations {
  private static let compiler = "/usr/bin/cc"

  /// Why nothing can be counted here; nil when it can.
  static var obstacle: String? {
    access(compiler, X_OK) == 0 ? nil : "\(compiler) is missing"
  }

  let run: ColdRun

  init() throws {
    run = try ColdRun(environment: { home in
      let library = home + "/allocations.so"
      let built = try ChildProcess.run(
        Self.compiler,
        [
          "-O2", "-shared", "-fPIC", "-DCOUNTS=\"\(home)/counts\"",
          "Tests/Allocations/allocations.c", "-o", library,
        ])
      guard built.code == 0 else { throw TestFailure("cc: \(built.output)") }
      return ["LD_PRELOAD=" + library]
    })
  }

  /// Allocations of all threads so far.
  var count: Int {
    get throws {
      guard let bytes = readBytes(run.home + "/counts"), bytes.count == 8 else {
        throw TestFailure("nothing has been counted")
      }
      return Int(bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
  }
}
