import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// `imgctl doctor` beside daemons with faults that last: each is named with its cause, and gone when its remedy was taken.
struct DoctorFaultTests {
  /// The findings about a subject that are not good, as text and remedy.
  private func findings(_ subject: String, _ socket: String, _ environment: [String] = []) throws -> [String] {
    let run = try ChildProcess.run(
      BuiltProduct.path(of: "imgctl"), ["--socket", socket, "doctor", "--json"],
      environment: ["PATH=/usr/bin:/bin"] + environment)
    let lines = try run.output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    return lines.filter { $0["check"]?.string == subject && $0["grade"]?.string != "ok" }.map {
      "\($0["grade"]?.string ?? ""): \($0["text"]?.string ?? "") → \($0["remedy"]?.string ?? "")"
    }
  }

  /// The same as soon as they are the wanted ones.
  private func findings(_ subject: String, _ socket: String, once areWanted: ([String]) -> Bool) throws -> [String] {
    var found: [String] = []
    let areThere = try becomes {
      found = try findings(subject, socket)
      return areWanted(found)
    }
    #expect(areThere, "\(found)")
    return found
  }

  // MARK: The disk

  private static let compiler = "/usr/bin/cc"

  @Test(
    .enabled(if: access(compiler, X_OK) == 0, "cc is missing"),
    .disabled(if: Sanitizer.isOn, "a sanitizer has to be loaded before any library"),
    arguments: [
      (EIO, "Input/output error", "journalctl -k"), (EDQUOT, "Disk quota exceeded", "setquota"),
      (ENOSPC, "No space left on device", "make room"), (EROFS, "Read-only file system", "mount it again"),
    ])
  func `what the disk says when it fails is told, with what helps, until it is well again`(
    code: CInt, words: String, remedy: String
  ) throws {
    let place = TemporaryDirectory()
    let (library, fault, cache) = (place.path + "/disk.so", place.path + "/fault", place.path + "/cache")
    let built = try ChildProcess.run(
      Self.compiler,
      [
        "-O2", "-shared", "-fPIC", "-DPLACE=\"\(cache)\"", "-DFAULT=\"\(fault)\"",
        "Tests/FailingDisk/failing-disk.c", "-o", library,
      ])
    #expect(built.code == 0, "\(built.output)")
    let origin = try OriginServer()
    defer { origin.stop() }
    let daemon = try DaemonProcess(
      settings: ["Disk.Lease=0s", "Disk.MinFree=0"], cacheDirectory: cache,
      wrapper: ["/usr/bin/env", "LD_PRELOAD=" + library])
    let client = try daemon.connect()
    func fetch(_ path: String) throws {
      origin.plan(path, .picture(png()))
      #expect(try client.ask(#"{"cmd":"fetch","url":"\#(origin.url(path))"}"#)["ok"] == .bool(true))
    }
    try fetch("/before")
    #expect(try findings("disk", daemon.socket) == [])
    try write("\(code)", to: fault)
    try fetch("/meanwhile")
    let found = try findings("disk", daemon.socket)
    #expect(found.first?.hasPrefix("problem: ") == true, "\(found)")
    #expect(found.first?.contains(words + " → ") == true && found.first?.contains(remedy) == true, "\(found)")
    unlink(fault)
    #expect(try becomes { try !findings("disk", daemon.socket).contains { $0.hasPrefix("problem") } })
    try fetch("/after")
  }

  @Test(.enabled(if: geteuid() == 0, "only root becomes another user"))
  func `a cache directory that cannot be made again is told, and the advice makes it`() throws {
    let place = TemporaryDirectory()
    chmod(place.path, 0o755)
    let cache = place.path + "/cache"
    mkdir(cache, 0o750)
    chown(cache, 65_534, 65_534)
    let daemon = try DaemonProcess(
      cacheDirectory: cache,
      wrapper: [
        "/bin/sh", "-c",
        "chown 65534 \"${3%/*}\" && exec setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"", "sh",
      ])
    TemporaryDirectory.remove(cache)
    // Once imgd has found that it must not make it itself.
    let found = try findings("disk", daemon.socket) { $0.contains { $0.contains("install -d") } }
    let command = try #require(found.first?.split(separator: ": ").last, "\(found)")
    #expect(command == "install -d -o 65534 -g 65534 -m 750 \(cache)", "\(found)")
    try CacheFiles.shell(String(command))
    #expect(try becomes { try findings("disk", daemon.socket).isEmpty })
  }

  // MARK: The configuration

  @Test func `a reload that was refused is told, until a good one`() throws {
    let daemon = try DaemonProcess(configuration: "[Memory]\nCapacity=20M\n")
    #expect(try findings("configuration", daemon.socket) == [])
    try daemon.rewrite(configuration: "[Memory]\nCapacity=much\n")
    daemon.signal(SIGHUP)
    let found = try findings("configuration", daemon.socket) { !$0.isEmpty }
    #expect(found.first?.hasPrefix("problem: the last reload changed nothing: ") == true, "\(found)")
    #expect(found.first?.contains("Memory.Capacity=much") == true && found.first?.hasSuffix("imgctl reload") == true)
    try daemon.rewrite(configuration: "[Memory]\nCapacity=30M\n")
    let reload = try ChildProcess.run(BuiltProduct.path(of: "imgctl"), ["--socket", daemon.socket, "reload"])
    #expect(reload.code == 0)
    #expect(try findings("configuration", daemon.socket) == [])
  }

  // MARK: Others

  @Test func `a decoder that never greets is told, and imgd tries again when it is asked to`() throws {
    let place = TemporaryDirectory()
    let program = place.path + "/imgd"
    _ = try ChildProcess.run("/bin/cp", [BuiltProduct.path(of: "imgd"), program])
    try write("#!/bin/sh\nexit 3\n", to: program + "-decoder")
    chmod(program + "-decoder", 0o755)
    let daemon = try DaemonProcess(program: program)
    let found = try findings("decoder", daemon.socket)
    #expect(found.first?.contains("ended with exit code 3") == true, "\(found)")
    #expect(found.first?.hasSuffix("imgctl reload") == true, "\(found)")
    _ = try ChildProcess.run("/bin/cp", [BuiltProduct.path(of: "imgd-decoder"), program + "-decoder"])
    #expect(
      try becomes {
        _ = try ChildProcess.run(BuiltProduct.path(of: "imgctl"), ["--socket", daemon.socket, "reload"])
        return try findings("decoder", daemon.socket).isEmpty
      })
  }

  @Test func `decoders that were killed are told`() throws {
    let stage = try Stage()
    stage.origin.plan("/a", .picture(png()))
    let form = #"{"cmd":"fetch","url":"ORIGIN/a","resize":{"width":4,"height":4},"format":"png","deliver":"inline"}"#
    _ = try stage.play("> \(form)\n< {\"ok\":true}")
    stage.daemon.signalDecoders(SIGSEGV)
    #expect(try becomes { try findings("decoder", stage.daemon.socket).contains { $0.contains("bad end: 1") } })
  }

  @Test func `an origin that hangs is told`() throws {
    let stage = try Stage("Downloads.IdleTimeout=200ms", "Downloads.Timeout=400ms", "Downloads.Retries=0")
    for number in 0..<4 {
      stage.origin.plan("/\(number)", .stalls(after: "HTTP/1.1 200 OK\r\n"))
      _ = try stage.client.ask(#"{"cmd":"fetch","url":"\#(stage.origin.url("/\(number)"))"}"#)
    }
    let found = try findings("origins", stage.daemon.socket)
    #expect(found.contains { $0.contains("timeout") && $0.contains("4 times in a row") }, "\(found)")
  }

  @Test func `a server of the fleet that is dead is told, and so is one that was emptied`() throws {
    let redis = try RedisServer()
    let daemon = try DaemonProcess(settings: ["Fleet.Server=unix:\(redis.socket)"])
    func isUp() throws -> Bool { try !findings("fleet", daemon.socket).contains { $0.hasPrefix("problem") } }
    #expect(try becomes(isUp))
    redis.kill()
    #expect(
      try becomes {
        try findings("fleet", daemon.socket).contains {
          $0.hasPrefix("problem: ") && $0.contains(redis.socket) && $0.contains("see whether it runs")
        }
      })
    try redis.start()
    #expect(
      try becomes {
        try isUp() && findings("fleet", daemon.socket).contains { $0.contains("may have been missed once") }
      })
  }

  @Test(.disabled(if: Sanitizer.isOn, "a sanitizer has to be loaded before any library"))
  func `a clock from before the program was built is told`() throws {
    let places = ["x86_64", "aarch64"].map { "/usr/lib/\($0)-linux-gnu/faketime/libfaketime.so.1" }
    guard let library = places.first(where: { access($0, R_OK) == 0 }) else { return }
    let daemon = try DaemonProcess()
    #expect(try findings("clock", daemon.socket) == [])
    let found = try findings(
      "clock", daemon.socket,
      ["LD_PRELOAD=\(library)", "FAKETIME=@2001-01-01 00:00:00", "NO_FAKE_STAT=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"])
    #expect(found.first?.hasPrefix("problem: this machine's clock is at 200") == true, "\(found)")
  }

  @Test func `connections that were refused are told, and who to ask about`() throws {
    let daemon = try DaemonProcess(settings: ["Control.MaxClients=4"])
    var all = try (0..<4).map { _ in try daemon.connect() }
    for client in all { #expect(try client.ask(#"{"cmd":"ping"}"#)["ok"] == .bool(true)) }
    #expect(try daemon.connect().receive()["error"]?["code"]?.string == "too_many_requests")
    all.removeLast()
    let found = try findings("clients", daemon.socket) { !$0.isEmpty }
    #expect(found.first?.contains("since the start connections were refused: 1") == true, "\(found)")
    #expect(found.first?.contains("imgctl clients") == true)
    withExtendedLifetime(all) {}
  }
}
