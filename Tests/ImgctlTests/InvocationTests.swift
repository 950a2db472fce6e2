import ImgdSystem
import Testing

@testable import ImgctlCommands

struct InvocationTests {
  @Test func `the socket may be named before or after the command`() throws {
    #expect(try Invocation.parse(["--socket", "/s", "ping"]).manner.socket == "/s")
    #expect(try Invocation.parse(["ping", "--socket=/s"]).manner.socket == "/s")
    #expect(try Invocation.parse(["ping"]).manner.socket == nil)
  }

  @Test func `what holds for every command may be said anywhere`() throws {
    let manner = try Invocation.parse(["-q", "stats", "--color=never"]).manner
    #expect(manner.isQuiet && !manner.isVerbose && manner.colour == .never)
    #expect(try Invocation.parse(["stats", "-v"]).manner.isVerbose)
  }

  @Test(
    arguments: [
      ([], "a command is missing: imgctl help lists the commands"),
      (["fecth"], "unknown command 'fecth': did you mean fetch?"),
      (["download"], "unknown command 'download': imgctl help lists the commands"),
      (["\u{1B}[2J"], #"unknown command '\x1b[2J': imgctl help lists the commands"#),
      (["--sokcet", "x"], "unknown option --sokcet: did you mean --socket?"),
      (["--json"], "unknown option --json: --help lists the options"),
      (["--resize", "9x9", "stats"], "unknown option --resize: --help lists the options"),
      (["fetch", ""], "fetch needs a URL, and '' is none"),
      (["query", "u", ""], "query needs a URL, and '' is none"),
      (["--socket=", "ping"], "--socket needs a value: PATH"),
      (["-q", "-v", "ping"], "--quiet and --verbose exclude each other"),
      (["ping", "--color=blue"], "--color blue is not valid: write auto, always or never"),
      (["fetch"], "fetch needs a URL, - for URLs from standard input, or --input and a file with URLs"),
      (["prefetch"], "prefetch needs a URL, - for URLs from standard input, or --input and a file with URLs"),
      (["cat"], "cat needs a URL, - for URLs from standard input, or --input and a file with URLs"),
      (["open"], "open needs a URL"),
      (["thumbnail", "u", "-s", "0"], "--size 0 is not valid: write a number from 1 to 65535"),
      (["wait"], "wait needs a RECEIPT"),
      (["wait", "R"], "'R' is not a receipt: imgctl fetch --no-wait prints one"),
      (["fetch", "u", "-o", ""], "--output needs a value: FILE|DIR|-"),
      (["fetch", "u", "-o", "a", "-o", "b"], "fetch takes one --output, and 2 were given"),
      (
        ["fetch", "u", "-o", "-", "--json"],
        "--json and -o - both write to standard output: name a file for the picture"
      ),
      (
        ["fetch", "u", "--as", "bytes", "-l"],
        "--list and --as bytes both write to standard output: name a file for the picture"
      ),
      (["fetch", "u", "-o", "f", "--as", "path"], "--as path writes no file: leave out -o"),
      (["fetch", "u", "-o", "f", "-f", "-n"], "--force and --no-clobber exclude each other"),
      (["fetch", "u", "--force"], "--force needs -o"),
      (["fetch", "u", "-n"], "--no-clobber needs -o with a file or a directory"),
      (["fetch", "u", "-n", "-o", "-"], "--no-clobber needs -o with a file or a directory"),
      (["fetch", "u", "-l", "--json"], "--json and --list exclude each other"),
      (["fetch", "u", "-0", "--json"], "--json and --print0 exclude each other"),
      (["fetch", "u", "-l", "--as", "none"], "--list prints paths, and --as none asks for none"),
      (["fetch", "u", "-j", "0"], "--jobs 0 is not valid: write a number from 1 to 10000"),
      (["fetch", "u", "--http"], "--http needs --json"),
      (["fetch", "u", "--describe"], "--describe needs --json"),
      (
        ["fetch", "u", "--receipt", "R"],
        "--receipt R is not a UUID: write one such as 5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"
      ),
      (
        ["fetch", "u", "v", "--receipt", "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"],
        "--receipt is the receipt of one fetch: name one URL"
      ),
      (
        ["fetch", "u", "--no-wait", "-o", "f"],
        "--no-wait prints receipts: fetch the pictures with imgctl wait -o"
      ),
      (
        ["fetch", "u", "--as", "pixels", "--format", "png"],
        "--as pixels has no encoding: leave out --format and --quality"
      ),
      (
        ["fetch", "u", "--layout", "rgba8"], "--layout needs --as pixels"
      ),
      (["fetch", "u", "--ttl", "99999d"], "--ttl 99999d is too long: write at most 3650d"),
      (["fetch", "u", "--timeout", "2d"], "--timeout 2d is too long: write at most 1d"),
      (
        ["fetch", "u", "--cache", "no"],
        "--cache no is not valid: write default, reload, no-cache, force-cache, "
          + "only-if-cached, peek or no-store"
      ),
      (["fetch", "u", "--cache", "relod"], "--cache relod is not valid: did you mean reload?"),
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
        ["fetch", "u", "-H", "Host: x"], "--header Host is set by the daemon alone: leave it out"
      ),
      (
        ["fetch", "u", "-H", "Proxy-Authorization: x"],
        "--header Proxy-Authorization is set by the daemon alone: leave it out"
      ),
      (["fetch", "u", "-H", "A(b): x"], "--header 'A(b)' is not a header's name"),
      (["fetch", "u", "-H", "A: x\ny"], "--header A has a control character in its value"),
      (
        ["fetch", "u", "--header", "Accept"],
        "--header 'Accept' is not a header: write 'Name: value'"
      ),
      (["fetch", "u", "--header", ": x"], "--header ': x' is not a header: write 'Name: value'"),
      (
        ["fetch", "u", "-H", "A: 1", "-H", "a: 2"],
        "--header a is given twice: write one, with both values"
      ),
      (
        ["fetch", "u", "--resize", "big"],
        "--resize big is not a size: write WIDTHxHEIGHT, such as 256x256, 256x or x256"
      ),
      (
        ["fetch", "u", "--resize", "0x9"],
        "--resize 0x9 is not a size: write WIDTHxHEIGHT, such as 256x256, 256x or x256"
      ),
      (["fetch", "u", "--fit", "cover"], "--fit needs --resize"),
      (["fetch", "u", "--linear"], "--linear needs --resize"),
      (["fetch", "u", "--resize", "9x9", "--crop", "centre"], "--crop needs --fit cover"),
      (
        ["fetch", "u", "--resize", "9x9", "--fit", "cover", "--crop", "top"],
        "--crop top is not valid: write centre, attention or a point in fractions of the sides such as 0.4,0.3"
      ),
      (
        ["fetch", "u", "--area", "0.5,0,0.6,1"],
        "--area 0.5,0,0.6,1 is not valid: its width takes no more than what x leaves of the side"
      ),
      (
        ["fetch", "u", "--resize", "9x9", "--background", "red"],
        "--background red is not valid: write #rrggbb or #rrggbbaa"
      ),
      (
        ["fetch", "u", "--resize", "9x", "--fit", "pad"],
        "--fit pad needs both sides in --resize, such as 256x256"
      ),
      (
        ["fetch", "u", "--resize", "9x", "--fit", "cover"],
        "--fit cover needs both sides in --resize, such as 256x256"
      ),
      (["fetch", "u", "--quality", "9"], "--quality needs --format, --resize or --area"),
      (["fetch", "u", "--quality", "0"], "--quality 0 is not valid: write a number from 1 to 100"),
      (["cancel"], "cancel needs either receipts, --tag or --all"),
      (["cancel", "R", "--all"], "cancel needs either receipts, --tag or --all"),
      (["cancel", "R"], "'R' is not a receipt: imgctl list shows them"),
      (["cancel", "--slot", "s"], "unknown option --slot: --help lists the options"),
      (["purge"], "purge needs a filter, or --all to remove every entry"),
      (["purge", "--soft"], "purge needs a filter, or --all to remove every entry"),
      (["purge", "-y"], "purge needs a filter, or --all to remove every entry"),
      (
        ["purge", "--all", "--host", "h"], "--all removes every entry: leave it out, or the filters"
      ),
      (
        ["purge", "--host", "a", "--host", "b", "--tag", "c", "--tag", "d"],
        "purge repeats one filter at a time: --host or --tag, not both"
      ),
      (["purge", "--tier", "disk", "--tier", "all"], "purge takes one --tier, and 2 were given"),
      (["reload", "now"], "reload takes no arguments: leave out 'now'"),
      (["purge", "u", "--all"], "--all removes every entry: leave it out, or the filters"),
      (
        ["purge", "--host", "127.0.0.1:9100"],
        "--host 127.0.0.1:9100 has a port, and a host has none: write 127.0.0.1"
      ),
      (
        ["purge", "--host", "a", "--host", "*"],
        "--host * has a *, and no host has one: leave the filter out for all hosts"
      ),
      (
        ["purge", "--prefix", "http://*"],
        "--prefix http://* has a * in its host, and no host has one: "
          + "a prefix is compared as it is written, without wildcards"
      ),
      (["purge", "--tier", "tape"], "--tier tape is not valid: write all, memory or disk"),
      (["stats", "x"], "stats takes no arguments: leave out 'x'"),
      (["ping", "x"], "ping takes no arguments: leave out 'x'"),
      (["help", "pign"], "unknown command 'pign': did you mean ping?"),
    ] as [([String], String)])
  func `each mistake is explained in one sentence`(arguments: [String], sentence: String) {
    #expect {
      _ = try Invocation.parse(arguments)
    } throws: {
      ($0 as? UsageProblem)?.description == sentence
    }
  }

  @Test(arguments: Verbs.names)
  func `the help of a command names its options`(name: String) throws {
    let description = try Verbs.named(name).description
    let text = imgctl([name, "--help"]).output
    #expect(text.hasPrefix("Usage: imgctl \(name)"))
    #expect(imgctl(["help", name]).output == text)
    for option in description.options { #expect(text.contains("--" + option.name)) }
    #expect(imgctl(["--help"]).output.contains("\n  \(name) "))
    #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }
}
