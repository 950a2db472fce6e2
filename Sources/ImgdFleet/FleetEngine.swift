// Speaks to the server that the caches of many machines share, on a thread of its own.
//
// Servers may be slow, full, stopped or gone, which must not delay requests. So all of it is on one thread
// with one loop, and only values cross: orders go in, events come out. On that thread
//
//   ServerLink       is one server: it is found, connected to, checked, left alone and tried again,
//   FleetServer      stands on the link of Fleet.Server, and knows the life and the clock of its data,
//   PurgeLog         reads the purges of all hosts there,
//   PurgeSender      adds this host's own,
//   PictureServers   know which of them has a picture: Fleet.Server itself, or one of Fleet.Pictures,
//   PictureServer    is one of these, with the
//   Looks            that find pictures, and wait for those that other hosts fetch,
//   Claims           that are the right to fetch one,
//   Stores           that bring pictures there,
//   HostList         writes a line about this host, and reads those of all,
//   RedisConnection  speaks with a server.
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

  /// Reads the log of purges, which has to have the last one that an earlier process has heard; nil if there was none.
  /// Until then, the fleet cannot be used.
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

  /// Applies what may change without a restart.
  package func apply(maxObject: Int, timeout: Duration) { mailbox.post(.apply(maxObject: maxObject, timeout: timeout)) }

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
  case apply(maxObject: Int, timeout: Duration)
  case askForLife(@Sendable () -> Void)
  case stop
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
