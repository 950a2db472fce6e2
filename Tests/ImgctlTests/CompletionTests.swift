import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgctlCommands

/// What `imgctl __complete` answers to the shells' scripts.
struct CompletionTests {
  /// The lines for the words of a command line; there is no message in any case.
  private func lines(_ words: [String], _ daemon: ScriptedDaemon? = nil) -> [String] {
    let run = imgctl(["__complete"] + words, daemon)
    #expect(run.exitCode == .done && run.messages == "", "\(words)")
    return run.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(
      String.init)
  }

  private func offers(_ words: [String], _ daemon: ScriptedDaemon? = nil) -> [String] {
    lines(words, daemon).map { String($0.prefix { $0 != "\t" }) }
  }

  @Test func `another shell is refused with the nearest name`() {
    let run = imgctl(["completion", "fisch"])
    #expect(run.exitCode == .wrongUsage && run.output == "")
    #expect(run.messages == "imgctl: completion fisch is not valid: did you mean fish?\n")
    #expect(imgctl(["completion"]).messages == "imgctl: completion needs a SHELL\n")
  }

  @Test func `every command is offered with its summary`() {
    let commands = Verbs.all.map { "\($0.description.name)\t\($0.description.summary)" }
    #expect(lines([""]) == commands && lines([]) == commands)
    #expect(lines(["--socket", "/s", "-q", ""]) == commands)
    #expect(lines(["help", ""]) == commands)
  }

  @Test func `every option of a command is offered with its explanation, and no other`() {
    for verb in Verbs.all.map(\.description) {
      let options = (verb.options + Invocation.general).flatMap { option in
        option.spellings.map { "\($0)\t\(option.help)" }
      }
      #expect(lines([verb.name, "-"]) == options)
    }
    #expect(offers(["-"]) == Invocation.general.flatMap(\.spellings))
  }

  @Test(arguments: [
    (["pur"], ["purge"]),
    (["purge", "--ti"], ["--tier"]),
    (["fetch", "--cache", "re"], ["reload"]),
    (["fetch", "--cache=re"], ["--cache=reload"]),
    (["--color="], ["--color=auto", "--color=always", "--color=never"]),
    (["completion", ""], ["bash", "zsh", "fish"]),
    (["-qv", "pu"], ["put", "purge"]),
    (["--tag", "fetch", "cancel", "--al"], ["--all"]),
    // An empty line stands for the names of files.
    (["fetch", "-o", "x"], [""]),
    (["fetch", "--output=x"], [""]),
    (["fetch", "-qo", "-"], [""]),
    // Options that were given already, unless they may be repeated, and operands too many.
    (["fetch", "--priority", "low", "--prio"], []),
    (["fetch", "--tag", "a", "--ta"], ["--tag"]),
    (["completion", "bash", ""], []),
    // What looks like an option and is none, and what nobody knows.
    (["fetch", "--tag", "--ca"], []),
    (["cancel", "--", "--al"], []),
    (["fetch", "--size="], []),
    (["cancel", "R"], []),
    (["stats", "x"], []),
  ])
  func `a word is offered where it fits`(words: [String], offered: [String]) {
    #expect(offers(words) == offered)
  }

  @Test(arguments: [["nothing", ""], ["fetch", "--nothing", ""], ["--socket=", ""]])
  func `a line that is wrong goes on with nothing`(words: [String]) {
    let run = imgctl(["__complete"] + words)
    #expect(run.exitCode == .wrongUsage && run.output == "")
  }

  // MARK: What the daemon knows

  /// A daemon is given a second for all its answers, which a busy machine may need for something else: then it is asked
  /// again.
  private func expect(_ offered: [String], for words: [String], from daemon: ScriptedDaemon) throws {
    var found: [String] = []
    _ = try becomes {
      found = lines(words, daemon)
      return found == offered
    }
    #expect(found == offered, "\(words)")
  }

  private static let configuration =
    #"{"ok":true,"config":{"Disk":{"Capacity":"1G","Age":"7d"},"Downloads":{"Retries":"2"}}}"#

  @Test(arguments: [
    ("", ["Disk", "Downloads"]),
    ("D", ["Disk", "Downloads"]),
    ("Do", ["Downloads", "Downloads.Retries\t2"]),
    ("Disk.", ["Disk.Capacity\t1G", "Disk.Age\t7d"]),
    ("Disk.A", ["Disk.Age\t7d"]),
    ("Retries", []),
  ])
  func `sections are offered, and the keys of one`(word: String, offered: [String]) throws {
    let daemon = try ScriptedDaemon { _ in [.line(Self.configuration)] }
    try expect(offered, for: ["config", word], from: daemon)
  }

  @Test func `the daemon is the one that the line names`() throws {
    let daemon = try ScriptedDaemon { _ in [.line(Self.configuration)] }
    #expect(try becomes { offers(["--socket", daemon.path, "config", "Di"]).first == "Disk" })
  }

  /// A cache with so many entries, of which the given ones begin as is asked; it hears the requests.
  private func cache(
    of entries: Int, memory: [String] = [], disk: [String] = [], _ requests: Locked<[String]>
  ) throws -> ScriptedDaemon {
    try ScriptedDaemon { line in
      requests.withLock { $0.append(line) }
      let request = try? JSONValue(parsing: line)
      if request?["cmd"]?.string == "stats" {
        return [.line(#"{"ok":true,"memory":{"entries":\#(entries)}}"#)]
      }
      let cursor = request?["cursor"]?.string.flatMap { Int($0) } ?? 0
      var urls = request?["tier"]?.string == "disk" ? disk : memory
      if request?["prefix"] == nil { urls = cursor < entries ? ["other"] : [] }
      let list = urls.map { #"{"url":\#(JSONValue.string($0).encoded())}"# }
      return [.line(#"{"ok":true,"entries":[\#(list.joined(separator: ","))]}"#)]
    }
  }

  @Test(arguments: [
    ["fetch", "http://h/"], ["purge", "--url", "http://h/"], ["entries", "--prefix", "http://h/"],
    ["query", "http://x/", "http://h/"],
  ])
  func `URLs of both tiers are offered, each once`(words: [String]) throws {
    let requests = Locked<[String]>([])
    let daemon = try cache(
      of: 3, memory: ["http://h/a", "http://h/b"], disk: ["http://h/b", "http://h/c"], requests)
    try expect(["http://h/a", "http://h/b", "http://h/c"], for: words, from: daemon)
    for tier in ["", #","tier":"disk""#] {
      let asked = #"{"cmd":"entries"\#(tier),"prefix":"http://h/""#
      #expect(requests.withLock { $0 }.contains { $0.hasPrefix(asked) })
    }
  }

  @Test func `of a large cache the daemon looks at the newest entries alone`() throws {
    let requests = Locked<[String]>([])
    let daemon = try cache(of: 1_000_000, disk: (0..<150).map { "http://h/\($0)" }, requests)
    #expect(
      try becomes {
        requests.withLock { $0 = [] }
        return lines(["fetch", "h"], daemon) == (0..<100).map { "http://h/\($0)" }
      })
    let asked = requests.withLock { $0 }
    #expect(asked.count < 30)
    for request in try asked.dropFirst().map({ try JSONValue(parsing: $0) }) {
      let cursor = try #require(request["cursor"]?.string.flatMap { Int($0) })
      // Where only some entries fit, the daemon passes over all that follow.
      let isBounded = request["prefix"] == nil && request["limit"]?.integer == 1
      #expect(isBounded || (990_000..<1_000_000).contains(cursor), "\(request)")
    }
    #expect(asked.last?.contains(#""prefix":"h""#) == true)
  }

  @Test func `no more URLs are offered than a shell shows`() throws {
    let urls = (0..<100).map { "http://h/\($0)" }
    let daemon = try cache(of: 200, memory: urls, disk: ["http://h/x"], Locked([]))
    try expect(urls, for: ["cat", "http://h/"], from: daemon)
    try expect(["other"], for: ["cat", ""], from: cache(of: 200, Locked([])))
  }

  @Test func `a URL that would be another one on a terminal is not offered`() throws {
    let strange = ["\n", "\r", "\t", "\u{1B}[2J", "\u{3}", "\u{7F}", "\u{202E}", "\u{200B}"]
    let sound = "http://h/'\"`$(x);&|<>!\\{a,b}*?[a]~^%41#"
    let daemon = try cache(
      of: 9, memory: strange.map { "http://h/\($0)" } + [sound], Locked([]))
    try expect([sound], for: ["fetch", "http://h/"], from: daemon)
  }

  @Test(arguments: [["fetch", "http://h/"], ["config", ""]])
  func `a daemon that is silent, refuses or is not there offers nothing`(words: [String]) throws {
    #expect(lines(words) == [])
    let refusal = #"{"ok":false,"error":{"code":"forbidden","message":"no"}}"#
    #expect(lines(words, try ScriptedDaemon { _ in [.line(refusal)] }) == [])
    #expect(lines(words, try ScriptedDaemon { _ in [.close] }) == [])
    #expect(lines(words, try ScriptedDaemon { _ in [.line("nonsense")] }) == [])
    // It is given a second; other commands would wait for ten, which no machine needs for the rest of this.
    let start = Instant.current
    #expect(lines(words, try ScriptedDaemon { _ in [] }) == [])
    #expect(Instant.current - start < Context.patience)
  }
}
