import ImgdCache
import ImgdSystem
import ImgdWire

/// `purge`: removes pictures, or marks them stale.
final class PurgeCommand {
  private let parts: CoreParts
  private let loop: EventLoop

  init(_ parts: CoreParts, loop: EventLoop) {
    self.parts = parts
    self.loop = loop
  }

  /// So many purges of one client may wait for the disk before its next request waits for one of them.
  private static let mostWaiting = 64

  /// Removes what matches, and keeps what is on its way from being stored. The client's next request
  /// waits until nothing that matches is found any more; the purge does not end with the client.
  func purge(_ purge: PurgeRequest, id: RequestID, from session: ClientSession) {
    do throws(WireError) {
      let filter = try PurgeFilter(purge)
      let ticket = session.standBy(id: id)
      session.hold()
      var isHeld = true
      let release = {
        if isHeld { session.release() }
        isHeld = false
      }
      let work = Purge(filter, purge, in: parts, loop: loop) { memory, disk in
        session.resume(ticket) {
          Self.answer(purge, matchesAll: filter.matchesAll, memory, disk, id: id, to: session)
        }
        release()
      }
      parts.turns.carryOut {
        if work.step() { return true }
        if session.standingCount < Self.mostWaiting { release() }
        return false
      }
    } catch {
      session.refuse(id: id, receipt: nil, error)
    }
  }

  private static func answer(
    _ purge: PurgeRequest, matchesAll: Bool, _ memory: Removal, _ disk: PurgeOutcome,
    id: RequestID, to session: ClientSession
  ) {
    if case .unrecorded(let reason, let isFull) = disk {
      return session.refuse(id: id, receipt: nil, .unrecordedPurge(reason, isFull: isFull))
    }
    let entries = memory.entries + disk.entries
    if matchesAll, !purge.soft, entries > 0 {
      let place = purge.tier == .all ? "" : " in \(purge.tier)"
      session.log(.purge, "purged everything\(place), entries: \(entries)", .entries(entries))
    }
    session.reply(id: id) { line in
      line.field("removed", !purge.soft && entries > 0)
      line.object("memory") { $0.removal(memory) }
      if case .done(let disk) = disk {
        line.object("disk") { $0.removal(disk) }
      } else {
        line.field("disk", "pending")
      }
    }
  }
}

extension PurgeOutcome {
  fileprivate var entries: Int {
    if case .done(let removal) = self { removal.entries } else { 0 }
  }
}

extension PurgeFilter {
  fileprivate init(_ purge: PurgeRequest) throws(WireError) {
    self.init()
    do throws(URLProblem) {
      url = try purge.url.map { text throws(URLProblem) in try CanonicalURL.parse(text) }
    } catch {
      throw .of(error)
    }
    identifier = purge.identifier
    prefix = purge.prefix
    host = purge.host?.lowercased()
    tag = purge.tag
    olderThan = purge.olderThan.map { .seconds($0) }
    unusedFor = purge.unusedFor.map { .seconds($0) }
    expired = purge.expired
  }
}

extension JSONWriter {
  fileprivate mutating func removal(_ removal: Removal) {
    field("entries", removal.entries)
    field("bytes", removal.bytes)
  }
}
