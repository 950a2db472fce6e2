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
//   RedisConnection  runs libhiredis on the loop.
//
// They are not Sendable, so the compiler keeps them on that thread.

package import ImgdCache
package import ImgdSystem
import Glibc

/// Shares pictures and purges with other hosts, on the fleet's thread; every call posts a message and
/// returns at once.
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
      // hiredis writes to connections that may have ended.
      SignalWatch.block([SIGPIPE])
      let desk = FleetDesk(loop: loop, settings: settings, report: report)
      return try loop.makeMailbox { message in desk.receive(message) }
    }
    return FleetEngine(thread: thread, mailbox: mailbox)
  }

  /// Begins to read the log of purges after the last one that was heard; nil if none ever was. Until then,
  /// the fleet cannot be used.
  package func join(from position: FleetPosition?) { mailbox.post(.join(position)) }

  /// Begins a look-up; all its events carry the look's serial.
  package func look(_ look: FleetLook) { mailbox.post(.look(look)) }

  /// Claims a picture that a look has found, which is then confirmed or fetched again; it stays readable.
  package func claim(serial: UInt64, _ digest: KeyDigest, replacing stamp: UInt64) {
    mailbox.post(.claim(serial: serial, digest, stamp: stamp))
  }

  /// Renews a claim for another lifetime.
  package func renew(serial: UInt64) { mailbox.post(.renew(serial: serial)) }

  /// Ends a look or gives a claim back without a picture; with `removing`, since the origin no longer has the
  /// picture, the stored one is deleted.
  package func release(serial: UInt64, removing: Bool) { mailbox.post(.release(serial: serial, removing: removing)) }

  /// Deletes a picture from the server without a replacement; a claim of another host stands.
  package func remove(_ digest: KeyDigest) { mailbox.post(.remove(digest)) }

  /// Brings a picture to the server; `stored` follows, and the claim of its serial ends.
  package func store(_ store: FleetStore) { mailbox.post(.store(store)) }

  /// Puts a purge into the log; `sent` or `unsent` follows.
  package func send(_ purge: FleetPurge) { mailbox.post(.send(purge)) }

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

/// The messages from other threads to the fleet's thread.
enum FleetMessage: Sendable {
  case join(FleetPosition?)
  case look(FleetLook)
  case claim(serial: UInt64, KeyDigest, stamp: UInt64)
  case renew(serial: UInt64)
  case release(serial: UInt64, removing: Bool)
  case remove(KeyDigest)
  case store(FleetStore)
  case send(FleetPurge)
  case apply(FleetSettings)
  case askForLife(@Sendable () -> Void)
  case stop
}
