import Glibc
import ImgdTestSupport

/// Something that goes wrong for a while, and then is over.
struct Fault: Sendable {
  let name: String
  /// For how many milliseconds.
  var lasts = 500...3_000
  /// Whether no other may last at the same time.
  var isAlone = false
  /// Whether the daemon is another one afterwards.
  var endsDaemon = false
  let begin: @Sendable (House) throws -> Void
  var end: @Sendable (House) throws -> Void = { _ in }

  static let all = origins + clients + decoders + disks + service + fleet
}

// MARK: Origins

extension Fault {
  static let origins = [
    Fault(name: "origins hang", begin: { $0.origin.set(.hangs) }, end: { $0.origin.set(.well) }),
    Fault(name: "origins reset", begin: { $0.origin.set(.resets) }, end: { $0.origin.set(.well) }),
    Fault(name: "origins lie", begin: { $0.origin.set(.lies) }, end: { $0.origin.set(.well) }),
  ]
}

// MARK: Clients

extension Fault {
  static let clients = [
    Fault(name: "clients vanish", lasts: 100...500, begin: { try RudeClient.vanish(50, at: $0) }),
    Fault(
      name: "clients never read", begin: { $0.rude.keep(try RudeClient.neverRead(5, at: $0)) },
      end: { $0.rude.leave() }),
    Fault(name: "clients flood", lasts: 100...500, begin: { try RudeClient.flood($0) }),
  ]
}

// MARK: Decoders

extension Fault {
  static let decoders = [
    Fault(
      name: "decoders are killed", lasts: 100...500,
      begin: { house in
        for _ in 0..<5 {
          house.signalDecoders(SIGKILL)
          poll(nil, 0, 50)
        }
      }),
    // The daemon kills them when their time is over.
    Fault(name: "decoders stand still", lasts: 1_000...3_000, begin: { $0.signalDecoders(SIGSTOP) }),
  ]
}

// MARK: The disk

extension Fault {
  static let disks = [
    Fault(name: "the disk is full", isAlone: true, begin: { try $0.disk.fill() }, end: { $0.disk.makeRoom() }),
    failing("writes fail (EIO)", .writesFail),
    failing("the quota is exceeded (EDQUOT)", .quotaExceeded),
    failing("reads fail (EIO)", .readsFail),
    Fault(
      name: "the file system is unmounted", isAlone: true, begin: { try $0.disk.unmount() },
      end: { try $0.disk.mount() }),
    Fault(
      name: "the directory is renamed", isAlone: true,
      begin: { rename($0.disk.path + "/cache", $0.disk.path + "/away") },
      // The daemon may have made another one meanwhile, and may be making it again.
      end: { house in
        let (path, away) = (house.disk.path + "/cache", house.disk.path + "/away")
        repeat { try house.disk.remove("cache") } while rename(away, path) != 0
      }),
    Fault(
      name: "the directory is removed", isAlone: true,
      begin: { try $0.disk.remove("cache") }),
  ]

  private static func failing(_ name: String, _ fault: Interposer.Disk) -> Fault {
    Fault(
      name: name, isAlone: true, begin: { $0.interposer.set(fault) },
      end: { house in
        house.interposer.set(.well)
        guard house.interposer.failed > 0 else { throw TestFailure("no call has failed: interposer.c is not loaded") }
      })
  }
}

// MARK: The service

extension Fault {
  static let service = [
    Fault(
      name: "memory is short", lasts: 200...1_000,
      begin: { house in
        for _ in 0..<5 {
          house.signalPressure()
          poll(nil, 0, 100)
        }
      }),
    Fault(
      name: "SIGHUP with other files", lasts: 100...600,
      begin: { try reload($0, with: "[Memory]\nCapacity=6M\n[Downloads]\nMaxActive=8\n") },
      end: { try reload($0, with: House.configuration) }),
    Fault(
      name: "SIGHUP with a file that is wrong", lasts: 100...600,
      begin: { try reload($0, with: "[Memory]\nCapacity=much\n") },
      end: { try reload($0, with: House.configuration) }),
    Fault(
      name: "SIGTERM, and a new start", lasts: 0...0, isAlone: true, endsDaemon: true,
      begin: { house in try house.restart(ending: { _ = house.daemon.stop() }) }),
    Fault(
      name: "SIGKILL, and a new start", lasts: 0...0, isAlone: true, endsDaemon: true,
      begin: { house in try house.restart(ending: { house.daemon.kill() }) }),
    Fault(
      name: "the power is cut", lasts: 0...0, isAlone: true, endsDaemon: true,
      begin: { house in
        try house.restart(
          ending: {
            // Nobody is answered after the instant to which the machine goes back.
            house.daemon.signal(SIGSTOP)
            try house.disk.copy()
            house.daemon.kill()
            house.gallery.forgetWaitingPurges()
          },
          after: {
            try house.disk.restart()
            house.interposer.name(deviceOf: house.disk.path)
          })
      }),
    Fault(
      name: "SIGKILL, and damaged files", lasts: 0...0, isAlone: true, endsDaemon: true,
      begin: { house in
        try house.restart(ending: { house.daemon.kill() }, after: { try house.disk.damage(filesBelow: "cache/1") })
      }),
    Fault(
      name: "SIGKILL, and a damaged index", lasts: 0...0, isAlone: true, endsDaemon: true,
      begin: { house in
        try house.restart(
          ending: { house.daemon.kill() }, after: { try house.disk.damage(house.disk.path + "/cache/1/index.db") })
      }),
    Fault(
      name: "the daemon stands still", lasts: 300...1_500, isAlone: true, begin: { $0.daemon.signal(SIGSTOP) },
      end: { $0.daemon.signal(SIGCONT) }),
    Fault(
      name: "the clock jumps an hour back", begin: { $0.interposer.set(clockAhead: -3_600) },
      end: { $0.interposer.set(clockAhead: 0) }),
    Fault(
      name: "the clock jumps a day ahead", begin: { $0.interposer.set(clockAhead: 86_400) },
      end: { $0.interposer.set(clockAhead: 0) }),
  ]

  private static func reload(_ house: House, with configuration: String) throws {
    try house.daemon.rewrite(configuration: configuration)
    house.daemon.signal(SIGHUP)
  }
}

// MARK: The fleet's server

extension Fault {
  static let fleet = [
    Fault(
      name: "the fleet's server dies", isAlone: true,
      begin: { house in
        house.fleet.kill()
        unlink(house.fleet.directory + "/dump.rdb")
      }, end: { try $0.fleet.start() }),
    Fault(
      name: "the fleet's server is emptied", lasts: 100...500, begin: { try $0.fleet.command("FLUSHALL") }),
    Fault(
      name: "the fleet's server stands still", isAlone: true, begin: { $0.fleet.freeze() },
      end: { $0.fleet.thaw() }),
    Fault(
      name: "the fleet's server goes back in time", lasts: 1_000...3_000, isAlone: true,
      begin: { try $0.fleet.command("SAVE") },
      end: { house in
        // What it was told since the copy was made is gone.
        house.fleet.kill()
        try house.fleet.start()
      }),
  ]
}
