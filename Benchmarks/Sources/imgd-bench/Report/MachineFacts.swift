private import CBench

/// The machine and the programs that the figures belong to.
struct MachineFacts {
  private let facts: [(name: String, value: String)]

  static func describe(_ options: Options) -> MachineFacts {
    MachineFacts(facts: [
      ("processor", processor),
      ("processors", "\(bench_processors())"),
      ("kernel", first(File.text("/proc/sys/kernel/osrelease"))),
      ("commit", answer(["git", "-C", options.packagePath, "rev-parse", "--short", "HEAD"])),
      ("toolchain", answer(["swift", "--version"])),
      ("redis", answer(["redis-server", "--version"])),
      ("nginx", answer(["nginx", "-v"])),
      ("curl", answer(["curl", "--version"])),
      ("aria2c", answer(["aria2c", "--version"])),
      ("load", first(File.text("/proc/loadavg"))),
      ("mode", options.isQuick ? "quick" : "\(options.rounds) rounds"),
    ])
  }

  var text: String {
    facts.map { "\($0.name): \(String($0.value.prefix(78)))" }.joined(separator: "\n")
  }

  var json: String {
    " \"machine\": {"
      + facts.map { "\(quoted($0.name)): \(quoted($0.value))" }.joined(separator: ", ") + "}"
  }

  private static var processor: String {
    let lines = (File.text("/proc/cpuinfo") ?? "").split(separator: "\n")
    let model = lines.first { $0.hasPrefix("model name") } ?? ""
    return String(model.drop { $0 != ":" }.dropFirst(2))
  }

  /// The first line of a program's version output.
  private static func answer(_ words: [String]) -> String {
    guard Child.exists(words[0]) else { return "missing" }
    let log = "/tmp/imgd-bench-version"
    defer { try? File.remove(log) }
    guard let child = try? Child(words, log: log), child.wait() == 0 else { return "unknown" }
    return first(File.text(log))
  }

  private static func first(_ text: String?) -> String {
    String((text ?? "unknown").prefix { !$0.isNewline })
  }
}
