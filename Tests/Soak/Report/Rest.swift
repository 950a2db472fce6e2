import ImgdTestSupport
import ImgdWire

/// What is held when nobody asks for anything and nothing is kept.
struct Rest {
  let daemon: ProcessFacts
  let gateway: ProcessFacts
  let files: Int

  /// Waits until all is quiet, and empties the cache.
  init(of house: House) throws {
    let client = try house.daemon.connect()
    let purge = try client.ask(#"{"cmd":"purge"}"#)
    guard purge["ok"] == .bool(true) else { throw TestFailure("a purge of everything failed: \(purge.text)") }
    var stats = JSONValue.null
    let isQuiet = try becomes {
      stats = try client.ask(#"{"cmd":"stats"}"#)
      let counts = [("downloads", "active"), ("downloads", "queued"), ("decode", "active"), ("disk", "files")]
      // The gateway has a connection, and so has this client.
      let clients = stats["clients"]?["connected"]?.integer ?? 0
      return counts.allSatisfy { stats[$0.0]?[$0.1]?.integer == 0 } && clients <= 3
    }
    guard isQuiet else { throw TestFailure("it does not become quiet: \(stats.text)") }
    daemon = ProcessFacts(house.daemon.pid)
    gateway = ProcessFacts(house.gateway.pid)
    files = Self.files(below: house).count
  }

  /// What holds more than it did at the beginning, in words.
  func excess(over start: Rest) -> [String] {
    var words: [String] = []
    for (name, now, before) in [("daemon", daemon, start.daemon), ("gateway", gateway, start.gateway)] {
      if now.descriptors > before.descriptors {
        words.append("the \(name) has \(now.descriptors) descriptors, \(before.descriptors) at the beginning")
      }
      if now.threads > before.threads {
        words.append("the \(name) has \(now.threads) threads, \(before.threads) at the beginning")
      }
      // What malloc keeps in pieces.
      if now.anonymousBytes > before.anonymousBytes + 8 << 20 {
        words.append("the \(name) has \(now.anonymousBytes) bytes, \(before.anonymousBytes) at the beginning")
      }
    }
    if files > start.files { words.append("\(files) files are left on disk, \(start.files) at the beginning") }
    return words
  }

  // MARK: Index and files

  /// Whether each file has its entry, and each entry its file, in words.
  static func disagreement(in house: House) throws -> String? {
    var listed: Set<String> = []
    var files: Set<String> = []
    // Files that have just lost their entry are removed a moment later.
    let agrees = try becomes {
      listed = try Set(entries(of: house))
      files = Set(self.files(below: house))
      return listed == files
    }
    if agrees { return nil }
    let (extra, missing) = (files.subtracting(listed), listed.subtracting(files))
    return "without an entry: \(extra.prefix(5)), without a file: \(missing.prefix(5))"
  }

  private static func files(below house: House) -> [String] {
    CacheFiles.below(house.disk.path + "/cache/1").filter { !$0.contains("/index.db") }
  }

  private static func entries(of house: House) throws -> [String] {
    let client = try house.daemon.connect()
    var paths: [String] = []
    var cursor: String?
    repeat {
      let from = cursor.map { #","cursor":"\#($0)""# } ?? ""
      let page = try client.ask(#"{"cmd":"entries","tier":"disk","limit":1000\#(from)}"#)
      paths += page["entries"]?.array?.compactMap { $0["path"]?.string } ?? []
      cursor = page["cursor"]?.string
    } while cursor != nil
    return paths
  }
}
