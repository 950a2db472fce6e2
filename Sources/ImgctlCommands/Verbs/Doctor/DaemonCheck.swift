import Glibc
import ImgdConnection
import ImgdSystem
import ImgdWire

/// The state of the daemon's parts, as it reports them.
struct DaemonCheck {
  private let stats: Reply
  private let config: Reply

  init(_ answers: Interview.Answers) {
    stats = answers.stats
    config = answers.config.object("config") ?? answers.config
  }

  var findings: [Finding] {
    [decoder, brokenDecoders, memory, shortage, disk, damage, descriptors, refusedClients].compactMap { $0 }
  }

  private var decoder: Finding? {
    guard let decode = stats.object("decode"), let sandbox = decode.text("sandbox") else { return nil }
    switch sandbox {
    case "full":
      return .ok("decoder", "in its sandbox; reads \(decode.display("decodes")); writes \(decode.display("encodes"))")
    case "partial":
      return .note(
        "decoder", "this kernel does not give it the whole sandbox",
        remedy: "Decode.Sandbox=required in imgd.conf turns it off instead")
    default:
      let note = decode.display("note")
      return .problem(
        "decoder", "none: no other sizes, encodings and pixels (\(note))",
        remedy: note.hasPrefix("the decoder is not installed") || note.hasSuffix("is libvips installed?")
          ? "install imgd-decoder beside imgd, and libvips42; imgd looks again within a minute, or at once: imgctl reload"
          : "see what has ended it (journalctl IMGD_EVENT=decoder), then have imgd try again: imgctl reload")
    }
  }

  /// Decoders that came to a bad end: by a damaged picture, by want of memory, or by another program.
  private var brokenDecoders: Finding? {
    guard let killed = stats.object("decode")?.number("killed"), killed > 0 else { return nil }
    return .note(
      "decoder", "since the start decoders came to a bad end: \(killed)",
      remedy: "see why, and over which pictures: journalctl IMGD_CODE=decoder_broke")
  }

  /// A machine that is short of memory stays so, whatever imgd gives up.
  private var shortage: Finding? {
    guard let pressure = stats.object("pressure"), let events = pressure.number("events"), events > 0,
      let last = pressure.text("last")
    else { return nil }
    return .note(
      "memory", "since the start this machine was short of memory \(events) times, the last time at \(last)",
      remedy: "see which program takes it: systemd-cgtop -m; a smaller Memory.Capacity leaves others more of it")
  }

  /// Connections that were not let in, and those that were closed because nobody read from them.
  private var refusedClients: Finding? {
    guard let counts = stats.object("clients") else { return nil }
    let (stalled, rejected) = (counts.number("slow_closed") ?? 0, counts.number("rejected") ?? 0)
    guard stalled + rejected > 0 else { return nil }
    let closed = stalled > 0 ? "; closed because nobody took the answers: \(stalled)" : ""
    return .note(
      "clients", "since the start connections were refused: \(rejected)\(closed)",
      remedy: "see who asks for how much: imgctl clients; the log says whose were closed: that program is to be mended")
  }

  private var memory: Finding? {
    guard let memory = stats.object("memory"), let pressure = stats.object("pressure") else { return nil }
    let use = "\(Quantity.size(memory.number("bytes") ?? 0)) of \(Quantity.size(memory.number("capacity") ?? 0))"
    switch pressure.display("source") {
    case "off":
      return .note(
        "memory", "\(use); the cache is not emptied when memory is short", remedy: "Memory.Pressure=auto in imgd.conf")
    case "none": return .note("memory", "\(use); nothing tells when memory is short (\(pressure.display("note")))")
    case let source: return .ok("memory", "\(use); pressure is reported by: \(source)")
    }
  }

  private var disk: Finding? {
    guard let disk = stats.object("disk"), let state = disk.text("state") else { return nil }
    let directory = config.object("Disk")?.text("Directory") ?? "?"
    switch state {
    case "ok" where disk.text("note") != nil:
      return .note(
        "disk", "\(directory): \(disk.display("note"))",
        remedy: "see whether one is to be mounted there (findmnt -T \(directory)): imgd takes it up by itself")
    case "ok":
      let use = Quantity.size(disk.number("bytes") ?? 0)
      let room = Quantity.size(disk.number("capacity") ?? 0)
      let free = Self.free(in: directory).map { "; \(Quantity.size($0)) free" } ?? ""
      return .ok("disk", "\(directory): \(use) of \(room)\(free)")
    case "off":
      return .note(
        "disk", "off: pictures have no files, and are lost at a stop", remedy: "Disk.Enabled=yes in imgd.conf")
    default: return trouble(disk, directory)
    }
  }

  /// A remedy, if the daemon knows one, follows a semicolon.
  private func trouble(_ disk: Reply, _ directory: String) -> Finding {
    let parts = (disk.text("reason") ?? "\(directory) cannot be used").split(separator: ";", maxSplits: 1)
    let text = parts.first.map { String($0) } ?? ""
    let remedy = parts.dropFirst().first.map { String($0.drop { $0 == " " }) }
    return .problem(
      "disk", text, remedy: remedy ?? Self.command(in: text) ?? Self.remedy(for: text, directory))
  }

  /// The command in brackets at the end of a reason.
  private static func command(in text: String) -> String? {
    guard text.hasSuffix(")"), let start = text.utf8.lastIndex(of: UInt8(ascii: "(")) else { return nil }
    let command = text[text.utf8.index(after: start)...].dropLast()
    return command.hasPrefix("chown ") || command.hasPrefix("chmod ") ? String(command) : nil
  }

  /// What to do about trouble that the system has named. imgd tries again by itself.
  private static func remedy(for text: String, _ directory: String) -> String {
    let again = "imgd looks again within ten seconds"
    if text.hasSuffix("Too many open files") {
      return "raise LimitNOFILE= of imgd.service, or lower Control.MaxClients"
    }
    if text.hasSuffix("No space left on device") {
      return "make room on its file system: df \(directory); df -i \(directory); \(again)"
    }
    if text.hasSuffix("Disk quota exceeded") {
      return "raise the quota of imgd's user (setquota), or lower Disk.Capacity below it; \(again)"
    }
    if text.hasSuffix("Input/output error") {
      return "its disk fails: journalctl -k says how; replace it, or name another place in Disk.Directory"
    }
    if text.hasSuffix("Read-only file system") {
      return "see why it was made so: journalctl -k; after an error of its disk stop imgd, unmount the file system "
        + "(findmnt -T \(directory)), check it with fsck, and mount it again"
    }
    if text.hasSuffix("was removed") { return "imgd makes it again with the next picture" }
    return "see whether its file system is full or read-only, and whose it is: df \(directory); ls -ld \(directory)"
  }

  /// Files that differ from what was stored point to a disk that is about to fail; a write that failed had a reason that
  /// has passed.
  private var damage: Finding? {
    guard let disk = stats.object("disk") else { return nil }
    let (corrupt, failed) = (disk.number("corrupt") ?? 0, disk.number("write_errors") ?? 0)
    if corrupt > 0 {
      return .note(
        "disk", "since the start files were found damaged: \(corrupt)",
        remedy: "look at the kernel's log for errors of the disk: journalctl -k")
    }
    guard failed > 0, disk.text("state") == "ok" else { return nil }
    return .note(
      "disk", "since the start pictures could not be stored: \(failed)",
      remedy: "the log says why: journalctl IMGD_CODE=disk_trouble")
  }

  private var descriptors: Finding? {
    guard let process = stats.object("process"), let open = process.number("open_fds"), let pid = process.number("pid"),
      let limit = OpenFileLimit(pid: pid)?.count
    else { return nil }
    let control = config.object("Control")?.text("MaxClients").flatMap { Int($0) } ?? 0
    let text = "\(open) open of \(limit)"
    let remedy = "LimitNOFILE=65536 in the unit; where imgd is started by hand, before that: ulimit -n 65536"
    // The last quarter is kept for clients, downloads and files: pictures get none of it.
    if open > limit - limit / 4 { return .problem("descriptors", text, remedy: remedy) }
    if limit < control * 2 { return .note("descriptors", "\(text): few for \(control) clients", remedy: remedy) }
    return .ok("descriptors", text)
  }

  /// The bytes that the file system of a directory has left; nil if this user cannot look at it.
  private static func free(in directory: String) -> Int? {
    var status = statvfs()
    // The path is a C string for the length of the call, and the status lives on this stack.
    guard unsafe statvfs(directory, &status) == 0 else { return nil }
    return Int(status.f_bavail) * Int(status.f_frsize)
  }
}

/// How many files a process may have open, as the kernel shows it to everybody.
struct OpenFileLimit {
  let count: Int

  /// The limit of a daemon; nil if the number is not that of a process called imgd here, such as one in a container.
  init?(pid: Int) {
    guard Self.text("/proc/\(pid)/comm") == "imgd\n", let limits = Self.text("/proc/\(pid)/limits") else { return nil }
    self.init(limits)
  }

  init?(_ limits: String) {
    for line in limits.split(separator: "\n") where line.hasPrefix("Max open files") {
      let columns = line.dropFirst("Max open files".count).split(separator: " ")
      guard let count = columns.first.flatMap({ Int($0) }) else { return nil }
      self.count = count
      return
    }
    return nil
  }

  private static func text(_ path: String) -> String? { TextFile.content(of: path, longest: 1 << 16) }
}

/// The settings by which the daemon reaches origins, compared with those of this user's other programs.
struct NetworkCheck {
  /// The variables by which most programs find a proxy. imgd reads none of them.
  private static let variables = ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"]

  private let network: Reply
  private let state: Reply?
  private let environment: [String: String]

  init(_ answers: Interview.Answers, environment: [String: String]) {
    network = answers.config.object("config")?.object("Network") ?? answers.config
    state = answers.stats.object("network")
    self.environment = environment
  }

  var findings: [Finding] { [routes, certificates, proxy].compactMap { $0 } }

  private var routes: Finding? {
    guard state?.flag("offline") == true else { return nil }
    return .note(
      "network", "this machine is offline: no route leads out, so downloads wait",
      remedy: "see its links and routes: ip link; ip route; origins that are reached without a route need "
        + "Network.Offline=off in imgd.conf")
  }

  private var certificates: Finding? {
    guard let file = network.text("CAFile") else { return nil }
    // The path is a C string for the length of the call.
    guard unsafe access(file, R_OK) != 0 else { return .ok("certificates", file) }
    let failure = SystemFailure("access", file)
    if failure.errno == EACCES {
      return .note("certificates", "\(file) cannot be read by this user; imgd may be able to")
    }
    return .problem(
      "certificates", "no https origin can be verified: \(file): \(failure.reason)",
      remedy: "install ca-certificates, or set Network.CAFile in imgd.conf")
  }

  private var proxy: Finding? {
    guard let proxy = network.text("Proxy") else { return nil }
    let variable = Self.variables.first { !(environment[$0] ?? "").isEmpty }
    guard proxy == "none", let variable else {
      return .ok("proxy", proxy == "none" ? "none" : "all downloads go through \(proxy)")
    }
    return .note(
      "proxy", "imgd uses none, though $\(variable) is set here: it does not read this variable",
      remedy: "Network.Proxy=http://HOST:PORT in imgd.conf, if origins are reached that way alone")
  }
}

/// Whether this machine's clock can be right: certificates and lifetimes go by it.
struct ClockCheck {
  /// A program may come from a machine whose clock is a little ahead.
  private static let tolerance: Int64 = 86_400

  var findings: [Finding] {
    var status = stat()
    // The status lives on this stack.
    guard unsafe stat("/proc/self/exe", &status) == 0 else { return [] }
    return Self.finding(now: WallClock.seconds, programMade: Int64(status.st_mtim.tv_sec))
  }

  static func finding(now: Int64, programMade made: Int64) -> [Finding] {
    guard now + tolerance < made else { return [] }
    return [
      .problem(
        "clock",
        "this machine's clock is at \(Timestamp.rfc3339(now)), before imgctl was built: no certificate is valid",
        remedy: "set it: sudo timedatectl set-ntp yes, or sudo date --set TIME")
    ]
  }
}
