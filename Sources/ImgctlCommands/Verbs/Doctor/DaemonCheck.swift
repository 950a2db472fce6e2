import Glibc
import ImgdConnection
import ImgdSystem

/// The state of the daemon's parts, as it reports them.
struct DaemonCheck {
  private let stats: Reply
  private let config: Reply

  init(_ answers: Interview.Answers) {
    stats = answers.stats
    config = answers.config.object("config") ?? answers.config
  }

  var findings: [Finding] { [decoder, memory, disk, damage, descriptors].compactMap { $0 } }

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
      return .problem(
        "decoder", "none: no other sizes, encodings and pixels (\(decode.display("note")))",
        remedy: "install imgd-decoder beside imgd, and libvips42")
    }
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
    if text.hasSuffix("Too many open files") {
      return .problem("disk", text, remedy: "raise LimitNOFILE= of imgd.service, or lower Control.MaxClients")
    }
    return .problem(
      "disk", text,
      remedy: remedy ?? "see whether its file system is full or read-only, and whose it is: "
        + "df \(directory); ls -ld \(directory)")
  }

  /// Files that differ from what was stored point to a disk that is about to fail.
  private var damage: Finding? {
    guard let disk = stats.object("disk") else { return nil }
    let (corrupt, failed) = (disk.number("corrupt") ?? 0, disk.number("write_errors") ?? 0)
    guard corrupt > 0 || (failed > 0 && disk.text("state") == "ok") else { return nil }
    return .note(
      "disk", "since the start \(failed) writes failed, and \(corrupt) files were damaged",
      remedy: "look at the kernel's log for errors of the disk: journalctl -k")
  }

  private var descriptors: Finding? {
    guard let process = stats.object("process"), let open = process.number("open_fds"), let pid = process.number("pid"),
      let limit = OpenFileLimit(pid: pid)?.count
    else { return nil }
    let control = config.object("Control")?.text("MaxClients").flatMap { Int($0) } ?? 0
    let text = "\(open) open of \(limit)"
    let remedy = "LimitNOFILE=65536 in the unit, or ulimit -Hn before imgd starts"
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

/// The server that this host shares with others, and whether the purges of all hosts arrive.
struct FleetCheck {
  /// `Fleet.Server` as the configuration has it; empty if this machine is in no fleet.
  private let configured: String
  private let fleet: Reply?

  init(_ answers: Interview.Answers) {
    let config = answers.config.object("config") ?? answers.config
    configured = config.object("Fleet")?.text("Server") ?? ""
    fleet = answers.stats.object("fleet")
  }

  var findings: [Finding] {
    guard let fleet, let state = fleet.text("state") else { return configured.isEmpty ? [] : [notStarted] }
    return [server(state, of: fleet)] + pictures(fleet.objects("pictures") ?? []) + purges(fleet.object("purges"))
  }

  /// The servers for pictures that are away, each with what it says.
  private func pictures(_ servers: [Reply]) -> [Finding] {
    servers.filter { $0.text("state") != "ok" }.map { server in
      let state = server.display("state")
      return .note(
        "fleet", server.text("reason") ?? "the server for pictures \(server.display("server")) is \(state)",
        remedy: "see to it: until it can be used, its share of the pictures is not shared")
    }
  }

  private var notStarted: Finding {
    .note(
      "fleet", "Fleet.Server=\(configured) is set, and not used by the imgd that runs",
      remedy: "restart imgd: this key has no effect before")
  }

  private func server(_ state: String, of fleet: Reply) -> Finding {
    let server = fleet.display("server")
    // The reason names the server.
    let text = fleet.text("reason")
    switch state {
    case "ok":
      // The server works, but has a setting that will cause trouble one day.
      if let text { return .note("fleet", text, remedy: "see fleet.md for the server's settings") }
      return .ok("fleet", "\(server): \(fleet.display("hits")) hits, \(fleet.display("stores")) stored")
    case "connecting": return .note("fleet", text ?? "\(server): connecting", remedy: "ask again in a moment")
    case "read-only":
      return .problem(
        "fleet", text ?? "\(server) can be read, and takes nothing",
        remedy: "Fleet.Server in imgd.conf has to be the primary, with room on its disk")
    case "refused":
      return .problem(
        "fleet", text ?? "\(server) must not be used as it is",
        remedy: "correct it there: imgd looks again by itself; fleet.md has the settings")
    default:
      return .problem(
        "fleet", text ?? "\(server) does not answer",
        remedy: "see whether it runs and can be reached from here, as the user imgd")
    }
  }

  private func purges(_ purges: Reply?) -> [Finding] {
    var findings: [Finding] = []
    if let pending = purges?.number("pending"), pending > 0 {
      findings.append(.note("fleet", "purges of this host that wait until the server takes them: \(pending)"))
    }
    if let gaps = purges?.number("gaps"), gaps > 0 {
      findings.append(
        .note(
          "fleet",
          "since the start purges of others may have been missed " + (gaps == 1 ? "once" : "\(gaps) times")
            + ": all pictures were marked as stale",
          remedy: "see why in the log of imgd (journalctl -u imgd IMGD_EVENT=fleet); a server that is "
            + "emptied is a usual cause"))
    }
    return findings
  }
}
