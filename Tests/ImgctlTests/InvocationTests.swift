import ImgdSystem
import Testing

@testable import ImgctlCommands

@Suite struct InvocationTests {
  @Test(arguments: [
    (["ping"], Invocation.Action.ping), (["reload"], .reload), (["--version"], .version),
    (["ping", "-V"], .version),
    (["--help"], .help(nil)), (["help"], .help(nil)), (["help", "purge"], .help(.purge)),
    (["fetch", "--help"], .help(.fetch)), (["stats"], .stats(json: false)),
    (["stats", "--json"], .stats(json: true)), (["list", "--json"], .list(json: true)),
    (["cancel", "R"], .cancel(.receipt("R"))), (["cancel", "--slot", "s"], .cancel(.slot("s"))),
    (["cancel", "--tag=t"], .cancel(.tag("t"))), (["cancel", "--all"], .cancel(.all)),
    (["purge", "--all"], .purge(PurgeFilters(everything: true))),
    (["purge", "-y"], .purge(PurgeFilters(everything: true))),
    (["purge", "--expired", "--soft"], .purge(PurgeFilters(expired: true, soft: true))),
    (
      ["purge", "--host", "example.org", "--older-than", "7d", "--unused-for=90"],
      .purge(
        PurgeFilters(
          texts: [.init(field: "host", value: "example.org")], olderThan: .seconds(604_800),
          unusedFor: .seconds(90)))
    ),
    (
      ["purge", "--tier=memory"],
      .purge(PurgeFilters(texts: [.init(field: "tier", value: "memory")]))
    ),
  ])
  func `every action is read`(arguments: [String], action: Invocation.Action) throws {
    #expect(try Invocation.parse(arguments).action == action)
  }

  @Test func `fetch takes its options in any place`() throws {
    let invocation = try Invocation.parse([
      "fetch", "http://a/1", "-o", "d", "--cache=reload", "--identifier", "i", "--priority", "high",
      "http://a/2", "--tag", "x", "--tag", "y", "--timeout", "1500ms", "--max-bytes", "10M",
      "--header", "Accept:  image/png", "--header", "X:", "--progress", "--json", "-",
    ])
    let expected = FetchArguments(
      urls: ["http://a/1", "http://a/2", "-"], output: "d", json: true, progress: true,
      cache: "reload", identifier: "i", priority: "high", tags: ["x", "y"],
      timeout: .milliseconds(1500), maxBytes: 10 << 20,
      headers: [.init(name: "Accept", value: "image/png"), .init(name: "X", value: "")])
    #expect(invocation == Invocation(action: .fetch(expected)))
  }

  @Test func `the socket may be named before or after the command`() throws {
    #expect(try Invocation.parse(["--socket", "/s", "ping"]).socket == "/s")
    #expect(try Invocation.parse(["ping", "--socket=/s"]).socket == "/s")
    #expect(try Invocation.parse(["ping"]).socket == nil)
  }

  @Test(
    arguments: [
      ([], "a command is missing: write fetch, cancel, purge, stats, list, reload, ping or help"),
      (["fecth"], "unknown command 'fecth': did you mean fetch?"),
      (
        ["download"],
        "unknown command 'download': write fetch, cancel, purge, stats, list, reload, ping or help"
      ),
      (
        ["\u{1B}[2J"],
        "unknown command '?[2J': write fetch, cancel, purge, stats, list, reload, ping or help"
      ),
      (["--sokcet", "x"], "unknown option --sokcet: did you mean --socket?"),
      (["--json", "stats"], "unknown option --json: --help lists the options"),
      (["--socket=", "ping"], "--socket needs a path"),
      (["fetch"], "fetch needs a URL, or - for URLs from standard input"),
      (["fetch", "u", "-o", ""], "-o needs a file, a directory or -"),
      (
        ["fetch", "u", "-o", "-", "--json"],
        "--json and -o - both write to standard output: name a file for the picture"
      ),
      (
        ["fetch", "u", "--cache", "no"],
        "--cache no is not valid: write default, reload, no-cache, force-cache, "
          + "only-if-cached or no-store"
      ),
      (
        ["fetch", "u", "--priority=urgent"],
        "--priority urgent is not valid: write low, normal or high"
      ),
      (
        ["fetch", "u", "--timeout", "soon"],
        "--timeout soon is not a duration: write seconds, or one such as 30s or 7d"
      ),
      (["fetch", "u", "--timeout", "0"], "--timeout 0 is too short: write at least 1ms"),
      (
        ["fetch", "u", "--max-bytes", "0"],
        "--max-bytes 0 is not a size: write bytes or a number with K, M or G"
      ),
      (
        ["fetch", "u", "--header", "Accept"],
        "--header 'Accept' is not a header: write 'Name: value'"
      ),
      (["fetch", "u", "--header", ": x"], "--header ': x' is not a header: write 'Name: value'"),
      (["cancel"], "cancel needs one of RECEIPT, --slot, --tag or --all"),
      (["cancel", "R", "--all"], "cancel needs one of RECEIPT, --slot, --tag or --all"),
      (["cancel", "R", "S"], "cancel needs one of RECEIPT, --slot, --tag or --all"),
      (["purge"], "purge needs a filter, or --all to remove every entry"),
      (["purge", "--soft"], "purge needs a filter, or --all to remove every entry"),
      (["reload", "now"], "reload takes no arguments: leave out 'now'"),
      (["purge", "x"], "purge takes no arguments: leave out 'x'"),
      (["purge", "--tier", "tape"], "--tier tape is not valid: write all, memory or disk"),
      (["stats", "x"], "stats takes no arguments: leave out 'x'"),
      (["ping", "x"], "ping takes no arguments: leave out 'x'"),
      (["help", "pign"], "unknown command 'pign': did you mean ping?"),
    ] as [([String], String)])
  func `each mistake is explained in one sentence`(arguments: [String], sentence: String) {
    #expect(throws: UsageProblem(sentence)) { try Invocation.parse(arguments) }
  }

  @Test(arguments: Verb.allCases)
  func `the help of a command names its options`(verb: Verb) {
    let text = Help.text(verb)
    #expect(text.hasPrefix("Usage: imgctl \(verb.rawValue)"))
    for option in verb.options { #expect(text.contains("--" + option.name)) }
    #expect(Help.text(nil).contains("\n  \(verb.rawValue) "))
  }
}
