import Glibc
import ImgdSystem
import ImgdTestSupport
import ImgdWire

/// All that runs: a daemon with its disk, decoders, fleet and gateway, another host of the fleet, and the origin.
final class House: @unchecked Sendable {
  // Unchecked: the thread of the faults alone starts and stops things; clients read what never changes, and `life`.
  let home: String
  let gallery = Gallery()
  let origin: GalleryOrigin
  let disk: BlockDisk
  let interposer: Interposer
  let fleet: RedisServer
  let daemon: DaemonProcess
  let gateway: GatewayProcess
  let peer: DaemonProcess
  /// Clients that do not read.
  let rude = RudeClient.Unread()
  /// Its number, from 1; 0 while it is being ended and started.
  let life = Shared(1)
  private var lives = 1
  private let pressure: CInt

  /// So that what hangs is over before the next fault.
  private static let impatience = [
    "Downloads.ConnectTimeout=2s", "Downloads.IdleTimeout=2s", "Downloads.Timeout=8s", "Downloads.Retries=1",
    "Downloads.MaxPerHost=16", "Decode.Timeout=2s", "Network.Private=allow",
  ]

  /// What every file has, however it changes.
  static let configuration = """
    [Memory]
    Capacity=24M

    """

  static let capacities = (memory: 24 << 20, disk: 48 << 20)

  init(in home: String, interposing library: String) throws {
    self.home = home
    origin = try GalleryOrigin(gallery)
    disk = try BlockDisk(megabytes: 96, in: home)
    interposer = try Interposer(in: home)
    interposer.name(deviceOf: disk.path)
    fleet = try RedisServer(RedisServer.rules + ["--maxmemory", "64mb"])
    let watched = home + "/pressure"
    mkfifo(watched, 0o600)
    pressure = open(watched, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    let shared = ["Fleet.Server=unix:\(fleet.socket)"] + Self.impatience
    daemon = try DaemonProcess(
      settings: shared + ["Memory.Pressure=auto", "Disk.Capacity=48M", "Disk.MinFree=0", "Disk.Lease=10s"],
      configuration: Self.configuration, cacheDirectory: disk.path + "/cache",
      wrapper: [
        "/usr/bin/env", "LD_PRELOAD=\(library)", "SOAK_FAULTS=\(interposer.path)", "MEMORY_PRESSURE_WATCH=\(watched)",
      ])
    gateway = try GatewayProcess(before: daemon.socket)
    peer = try DaemonProcess(settings: shared + ["Disk.Enabled=no"])
  }

  deinit { close(pressure) }

  // MARK: The daemon's lives

  /// Ends the daemon in a way, and starts it again after something else.
  func restart(ending: () throws -> Void, after change: () throws -> Void = {}) throws {
    life.with { $0 = 0 }
    gallery.diary.note("the daemon is ended")
    try ending()
    try change()
    gallery.diary.note("the daemon is started")
    try daemon.start()
    lives += 1
    life.with { $0 = lives }
  }

  func signalPressure() { _ = write(pressure, "x", 1) }

  func signalDecoders(_ number: CInt) {
    for pid in ProcessFacts.children(of: daemon.pid) { kill(pid, number) }
  }

  // MARK: Health

  /// Nil when everything works: a picture from the origin gets a file, and is decoded, and the fleet takes part.
  func complaint(_ probe: UInt64) throws -> String? {
    let client = try daemon.connect()
    client.patience = .seconds(5)
    let stats = try client.ask(#"{"cmd":"stats"}"#)
    guard stats["disk"]?["state"] == "ok", stats["disk"]?["loading"] == nil else {
      return "disk: \(stats["disk"]?.text ?? "")"
    }
    guard stats["fleet"]?["state"] == "ok" else { return "fleet: \(stats["fleet"]?.text ?? "")" }
    let fetch = #"{"cmd":"fetch","url":"\#(origin.url("/once-\(probe)"))""#
    let whole = try client.ask(fetch + "}")
    guard whole["ok"] == .bool(true), let path = whole["path"]?.string,
      readBytes(path) == TestPicture.png(bytes: 700, seed: probe)
    else { return whole.text }
    let form = try client.ask(fetch + #","deliver":"none","format":"webp"}"#)
    return form["ok"] == .bool(true) ? nil : form.text
  }
}
