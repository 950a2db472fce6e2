// Speaks to the server that the caches of many machines share, on a thread of its own.
//
// A server may be slow, full, stopped or gone, which must not delay requests. So all of it is on one thread
// with one loop, and only values cross: orders go in, events come out. On that thread
//
//   FleetServer      connects, checks whether the server may be used, and reports the state of the fleet,
//   PurgeLog         reads the purges of all hosts,
//   PurgeSender      adds this host's own,
//   Looks            finds pictures, and waits for those that other hosts fetch,
//   Claims           holds the right to fetch one,
//   Stores           brings pictures to the server,
//   HostList         writes a line about this host, and reads those of all,
//   RedisConnection  speaks with the server.
//
// They are not Sendable, so the compiler keeps them on that thread.

import Glibc
package import ImgdCache
package import ImgdSystem

/// Shares pictures and purges with other hosts; every call posts a message to the fleet's thread and returns.
package final class FleetEngine: Sendable {
  private let thread: LoopThread
  private let mailbox: Mailbox<FleetMessage>

  private init(thread: LoopThread, mailbox: Mailbox<FleetMessage>) {
    self.thread = thread
    self.mailbox = mailbox
  }

  /// Starts the thread; `report` is called on it, in order, and must not wait.
  package static func start(settings: FleetSettings, report: @escaping @Sendable (FleetEvent) -> Void)
    throws(SystemFailure) -> FleetEngine
  {
    let (thread, mailbox) = try LoopThread.start(name: "imgd-fleet") {
      (loop: EventLoop) throws(SystemFailure) -> Mailbox<FleetMessage> in
      // The kernel and libssl write to connections that may have ended.
      SignalWatch.block([SIGPIPE])
      let desk = FleetDesk(loop: loop, settings: settings, report: report)
      return try loop.makeMailbox { message in desk.receive(message) }
    }
    return FleetEngine(thread: thread, mailbox: mailbox)
  }

  /// Reads the log of purges after the last one heard; nil if none ever was. Until then, the fleet cannot be used.
  package func join(from position: FleetPosition?) { mailbox.post(.join(position)) }

  /// Begins a look-up; all its events carry the look's serial.
  package func look(_ look: FleetLook) { mailbox.post(.look(look)) }

  /// Claims a picture that a look has found, which is then confirmed or fetched again; it stays readable.
  package func claim(serial: UInt64, _ digest: KeyDigest, replacing stamp: UInt64) {
    mailbox.post(.claim(serial: serial, digest, stamp: stamp))
  }

  /// Renews a claim for another lifetime.
  package func renew(serial: UInt64) { mailbox.post(.renew(serial: serial)) }

  /// Ends a look or gives a claim back; with `removing` the stored picture goes, as the origin no longer has it.
  package func release(serial: UInt64, removing: Bool) { mailbox.post(.release(serial: serial, removing: removing)) }

  /// Deletes a picture from the server without a replacement; a claim of another host stands.
  package func remove(_ digest: KeyDigest) { mailbox.post(.remove(digest)) }

  /// Brings a picture to the server; `stored` follows, and the claim of its serial ends.
  package func store(_ store: FleetStore) { mailbox.post(.store(store)) }

  /// Puts a purge into the log; `sent` or `unsent` follows.
  package func send(_ purge: FleetPurge) { mailbox.post(.send(purge)) }

  /// Writes what this host is like into the list of hosts.
  package func announce(_ line: HostNote) { mailbox.post(.announce(line)) }

  /// Reads the list of hosts; `hosts` follows.
  package func askForHosts() { mailbox.post(.askForHosts) }

  /// Applies new settings; for another server, user or namespace everything starts over.
  package func apply(_ settings: FleetSettings) { mailbox.post(.apply(settings)) }

  /// Calls `answer` on the fleet's thread, in a tick of its loop.
  package func askForLife(_ answer: @escaping @Sendable () -> Void) { mailbox.post(.askForLife(answer)) }

  /// Gives all claims back, as far as the server accepts that at once, ends the thread and waits for its end.
  /// Not to be called from `report`.
  package func stop() {
    mailbox.post(.stop)
    thread.join()
  }
}

enum FleetMessage: Sendable {
  case join(FleetPosition?)
  case look(FleetLook)
  case claim(serial: UInt64, KeyDigest, stamp: UInt64)
  case renew(serial: UInt64)
  case release(serial: UInt64, removing: Bool)
  case remove(KeyDigest)
  case store(FleetStore)
  case send(FleetPurge)
  case announce(HostNote)
  case askForHosts
  case apply(FleetSettings)
  case askForLife(@Sendable () -> Void)
  case stop
}

/// Holds the objects of the fleet's thread, and passes each message to the one that it is for.
final class FleetDesk {
  // The thread owns the loop, which owns the mailbox, which owns this desk.
  private unowned let loop: EventLoop
  private let server: FleetServer
  private let claims: Claims
  private let looks: Looks
  private let stores: Stores
  private let purges: PurgeSender
  private let hosts: HostList

  init(
    loop: EventLoop, settings: FleetSettings, connect: @escaping Connect = RedisConnection.init(to:on:limits:),
    report: @escaping (FleetEvent) -> Void
  ) {
    self.loop = loop
    server = FleetServer(loop: loop, settings: settings, connect: connect, report: report)
    claims = Claims(server)
    looks = Looks(server, claims)
    stores = Stores(server, claims)
    purges = PurgeSender(server)
    hosts = HostList(server)
    server.onLeave = { [unowned self] in
      looks.failAll()
      stores.leave()
    }
    server.attempt()
  }

  func receive(_ message: FleetMessage) {
    switch message {
    case .join(let position): server.join(from: position)
    case .look(let look): looks.begin(look)
    case .claim(let serial, let digest, let stamp): looks.begin(serial: serial, digest, replacing: stamp)
    case .renew(let serial): claims.renew(serial)
    case .release(let serial, let removing): if !looks.drop(serial) { claims.release(serial, removing: removing) }
    case .remove(let digest): stores.remove(digest)
    case .store(let store): stores.store(store)
    case .send(let purge): purges.send(purge)
    case .announce(let line): hosts.write(line)
    case .askForHosts: hosts.read()
    case .apply(let settings): server.apply(settings)
    case .askForLife(let answer): answer()
    case .stop:
      looks.stop()
      stores.stop()
      claims.giveAllBack()
      hosts.remove()
      // The commands of this tick are written at its end.
      loop.atTickEnd { [self] in
        server.stop()
        loop.stop()
      }
    }
  }
}

/// A look-up of a picture in the fleet's server. All events about it carry its serial.
package struct FleetLook: Sendable {
  package let serial: UInt64
  package let digest: KeyDigest
  /// Whether the picture will be fetched from its origin if it is not there: then the look claims it, so that
  /// other hosts wait for it. Otherwise it only reads.
  package let claims: Bool

  /// How long it may take in all, where the first byte is to come within `timeout`, and after each pause the next one.
  package static func longest(timeout: Duration) -> Duration { max(timeout * 64, .seconds(10)) }

  package init(serial: UInt64, digest: KeyDigest, claims: Bool) {
    self.serial = serial
    self.digest = digest
    self.claims = claims
  }
}

/// A picture for the fleet's server, or an answer without one.
package struct FleetStore: Sendable {
  /// The look whose claim it fulfils: it is stored only as long as the claim stands. A picture without a
  /// claim replaces only an older one.
  package let serial: UInt64
  package let record: StoredRecord
  package let payload: Payload
  /// How long ago the picture was stored here, and how long ago its transfer began.
  package let age: Duration
  package let begunAgo: Duration
  /// The last purge that had been heard when the transfer began: later ones are about the picture, too.
  package let mark: FleetPosition
  /// How long the server is to keep it.
  package let lifetime: Duration

  package init(
    serial: UInt64, record: StoredRecord, payload: Payload, age: Duration, begunAgo: Duration, mark: FleetPosition,
    lifetime: Duration
  ) {
    self.serial = serial
    self.record = record
    self.payload = payload
    self.age = age
    self.begunAgo = begunAgo
    self.mark = mark
    self.lifetime = lifetime
  }
}

/// Where the fleet's server is, and what may be asked of it.
package struct FleetSettings: Sendable, Equatable {
  /// The address of the server.
  package enum Server: Sendable, Equatable, CustomStringConvertible {
    case unix(path: String)
    case tcp(host: String, port: Int)

    /// As in the configuration.
    package var description: String {
      switch self {
      case .unix(let path): "unix:\(path)"
      case .tcp(let host, let port): host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
      }
    }
  }

  package var server: Server
  package var user: String?
  /// Read at each connection: the password may change.
  package var passwordFile: String?
  /// The beginning of all keys.
  package var namespace: String
  /// The largest picture that is stored or read.
  package var maxObject: Int
  /// How long a look-up may take.
  package var timeout: Duration
  /// The newest layout of values that is read and written; an older one stands for a host of an earlier release.
  var layout = FleetValue.newestLayout

  package init(
    server: Server, user: String? = nil, passwordFile: String? = nil, namespace: String = "imgd",
    maxObject: Int = 1 << 20, timeout: Duration = .milliseconds(50)
  ) {
    self.server = server
    self.user = user
    self.passwordFile = passwordFile
    self.namespace = namespace
    self.maxObject = maxObject
    self.timeout = timeout
  }
}
