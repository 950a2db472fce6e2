import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The completions, loaded in the real shells.
struct CompletionTests {
  private static let program = BuiltProduct.path(of: "imgctl")
  private static let shells = CompletingShell.Kind.allCases.filter(\.isThere)

  /// Beginnings of lines, and the lines that TAB makes of them.
  private static let lines = [
    ("imgctl pur", "imgctl purge "),
    ("imgctl purge --ti", "imgctl purge --tier"),
    ("imgctl fetch --cache rel", "imgctl fetch --cache reload "),
    ("imgctl fetch --cache=rel", "imgctl fetch --cache=reload "),
    ("imgctl --socket /x fe", "imgctl --socket /x fetch "),
    ("imgctl --color=al", "imgctl --color=always "),
    ("imgctl --color never hel", "imgctl --color never help "),
    ("imgctl help comp", "imgctl help completion "),
    ("imgctl completion z", "imgctl completion zsh "),
    ("imgctl fetch https://h/a --prio", "imgctl fetch https://h/a --priority"),
    ("imgctl fetch https://h/a --priority=hi", "imgctl fetch https://h/a --priority=high "),
    ("imgctl purge --tag fetch --ti", "imgctl purge --tag fetch --tier"),
    ("imgctl -qv pur", "imgctl -qv purge "),
    // Operands and values of which nothing is known, and what looks like an option and is none.
    ("imgctl fetch htt", "imgctl fetch htt"),
    ("imgctl fetch --tag pu", "imgctl fetch --tag pu"),
    ("imgctl fetch -- --ca", "imgctl fetch -- --ca"),
    ("imgctl purge --tier pu", "imgctl purge --tier pu"),
    ("imgctl nothing pu", "imgctl nothing pu"),
  ]

  private static let files = [
    ("imgctl fetch -o pict", "imgctl fetch -o pictures/"),
    ("imgctl fetch --output pict", "imgctl fetch --output pictures/"),
    ("imgctl fetch --output=pict", "imgctl fetch --output=pictures/"),
    ("imgctl --socket pict", "imgctl --socket pictures/"),
  ]

  /// What the daemon knows, which is asked at the given socket.
  private static let known = [
    ("imgctl config Downloads.Retr", "imgctl config Downloads.Retries "),
    ("imgctl query ORIGIN/0", "imgctl query ORIGIN/0.png "),
    ("imgctl purge --url=ORIGIN/1", "imgctl purge --url=ORIGIN/1.png "),
    ("imgctl entries --prefix 'ORIGIN/2", "imgctl entries --prefix 'ORIGIN/2.png' "),
    ("imgctl cat \"ORIGIN/2", "imgctl cat \"ORIGIN/2.png\" "),
  ]

  private let directory = TemporaryDirectory()

  init() throws {
    mkdir(directory.path + "/pictures", 0o700)
    // Found where the shells look for a program.
    try #require(symlink(Self.program, directory.path + "/imgctl") == 0)
  }

  /// The daemon is given a second for its answers, which a busy machine may need for something else: then TAB offers
  /// nothing, and is pressed again.
  private func check(_ shell: CompletingShell, _ lines: [(String, String)]) throws {
    for (typed, completed) in lines {
      // Some shells end an option that takes a value with a sign or a blank, and some do not.
      let wanted = ["", "=", " "].map { completed + $0 }
      var line = ""
      _ = try becomes {
        line = try shell.completed(typed)
        return wanted.contains(line)
      }
      #expect(wanted.contains(line), "\(typed)")
    }
  }

  @Test(arguments: shells.filter { $0 != .fish })
  func `bash and zsh complete commands, options, values and files`(
    _ kind: CompletingShell.Kind
  ) throws {
    let shell = try CompletingShell(kind, in: directory.path, socket: "/nonexistent/s")
    try check(shell, Self.lines + Self.files)
  }

  @Test(.enabled(if: CompletingShell.Kind.zsh.isThere))
  func `zsh finds the script among its functions`() throws {
    let script = try ChildProcess.run(Self.program, ["completion", "zsh"])
    try write(script.output, to: directory.path + "/_imgctl")
    let shell = try CompletingShell(
      .zsh, in: directory.path, socket: "/nonexistent/s", loadsItself: true)
    try check(shell, Self.lines + Self.files)
  }

  @Test(.enabled(if: CompletingShell.Kind.fish.isThere))
  func `fish completes commands, options, values and files`() throws {
    for (typed, completed) in Self.lines + Self.files {
      try checkFish(typed, completed, socket: "/nonexistent/s")
    }
  }

  @Test(arguments: shells)
  func `the shells complete what the daemon knows`(_ kind: CompletingShell.Kind) throws {
    let cache = try FilledCache()
    let lines = Self.known.map { typed, completed in
      (cache.inOrigin(typed), cache.inOrigin(completed))
    }
    let socket = cache.stage.daemon.socket
    guard kind == .fish else {
      return try check(CompletingShell(kind, in: directory.path, socket: socket), lines)
    }
    for (typed, completed) in lines { try checkFish(typed, completed, socket: socket) }
  }

  /// Fish says itself what it would offer, without the quotes of the line.
  private func checkFish(_ typed: String, _ completed: String, socket: String) throws {
    let script = """
      cd \(directory.path); source (imgctl completion fish | psub); complete -C "$argv"
      """
    let beginning = typed.lastIndex(of: " ").map { typed[..<typed.index(after: $0)] } ?? ""
    let word = completed.dropFirst(beginning.count).filter { !"'\" ".contains($0) }
    let wanted = typed == completed ? [] : [Substring(word)]
    var offers: [Substring] = []
    _ = try becomes {
      let run = try ChildProcess.run(
        "/usr/bin/fish", ["--no-config", "-c", script, typed],
        environment: CompletingShell.environment(directory.path, socket))
      #expect(run.code == 0)
      offers = run.output.split(separator: "\n").map { $0.prefix { $0 != "\t" } }
      return offers == wanted
    }
    #expect(offers == wanted, "\(typed)")
  }

  // MARK: URLs of strangers

  /// URLs by which a page could try to have a shell run something: it would make a file in the directory.
  private static let hostile = [
    "http://h/a$(>owned)", "http://h/b`>owned`", "http://h/c';>owned;'", "http://h/d\";>owned;\"",
    "http://h/e\\;>owned", "http://h/f;>owned&|<>(x){a,b}*?[a]~^%41#",
    "http://h/g!!%s%F{red}$x\\x41",
    "http://h/h >owned", "http://h/i''`>owned`\"\"$(>owned)\\",
  ]

  /// `imgctl` offers no such ones.
  private static let invisible = [
    "http://h/n\n>owned", "http://h/o\r>owned", "http://h/p\u{3}>owned",
    "http://h/q\u{1B}[2J$(>owned)",
    "http://h/r\t`>owned`", "http://h/s\u{15}>owned", "http://h/t\u{4}>owned",
  ]

  /// In place of the program a script that offers these URLs, and keeps the argument of any other command.
  private func offerHostileURLs() throws {
    unlink(directory.path + "/imgctl")
    try write(
      """
      #!/bin/sh
      case $1 in
        __complete) cat \(directory.path)/offers ;;
        completion) exec \(Self.program) "$@" ;;
        *) printf '%s\\n' "$2" >>\(directory.path)/arguments ;;
      esac
      """, to: directory.path + "/imgctl")
    chmod(directory.path + "/imgctl", 0o700)
    try write(
      (Self.hostile + Self.invisible).joined(separator: "\n") + "\n", to: directory.path + "/offers"
    )
  }

  private var hasRun: Bool { access(directory.path + "/owned", F_OK) == 0 }

  @Test(arguments: shells, ["", "'", "\""])
  func `a hostile URL is one argument, and runs nothing`(
    _ kind: CompletingShell.Kind, quote: String
  ) throws {
    try offerHostileURLs()
    let shell = try CompletingShell(kind, in: directory.path, socket: "/nonexistent/s")
    // Within quotes bash would have to quote these, and offers the others alone.
    let refused = kind == .bash && !quote.isEmpty ? "'\"`$\\!" : ""
    let offered = Self.hostile.filter { url in !url.contains(where: refused.contains) }
    for url in Self.hostile {
      let typed = "imgctl query " + quote + url.prefix("http://h/a".count)
      if offered.contains(url) {
        try shell.execute(typed)
      } else {
        #expect(try shell.completed(typed) == typed)
      }
      #expect(!hasRun, "\(url)")
    }
    #expect(read(directory.path + "/arguments") == offered.joined(separator: "\n") + "\n")
  }

  @Test(arguments: shells)
  func `control characters run nothing`(_ kind: CompletingShell.Kind) throws {
    try offerHostileURLs()
    let shell = try CompletingShell(kind, in: directory.path, socket: "/nonexistent/s")
    for url in Self.invisible + ["http://h/", ""] {
      try shell.execute("imgctl query " + url.prefix("http://h/a".count))
      #expect(!hasRun, "\(url.debugDescription)")
    }
  }

  @Test(arguments: shells)
  func `a hostile URL of the cache is found again`(_ kind: CompletingShell.Kind) throws {
    let cache = try FilledCache()
    let path = "/x';$(>owned)`>owned`\"&|{a,b}*?w=1&h=2!\\"
    cache.stage.origin.plan(path, .picture(TestPicture.png(bytes: 3_000, seed: 9)))
    let url = JSONValue.string(cache.stage.origin.url(path)).encoded()
    _ = try cache.stage.client.ask(#"{"cmd":"fetch","url":\#(url),"ttl":600}"#)
    let shell = try CompletingShell(
      kind, in: directory.path, socket: cache.stage.daemon.socket)
    try shell.execute("imgctl query >found " + cache.inOrigin("ORIGIN/x"))
    #expect(!hasRun)
    #expect(read(directory.path + "/found")?.contains("\n  format     png\n") == true)
  }
}

extension FilledCache {
  /// A line with the address of the origin.
  fileprivate func inOrigin(_ line: String) -> String {
    let parts = line.split(separator: "ORIGIN", omittingEmptySubsequences: false)
    return parts.joined(separator: stage.base)
  }
}
