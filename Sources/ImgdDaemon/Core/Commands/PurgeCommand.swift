import ImgdCache
import ImgdProgram
import ImgdSystem
import ImgdWire

/// `purge`: removes pictures, or marks them stale.
final class PurgeCommand {
  private let places: Purge.Places
  private let fleet: FleetPurges
  private let turns: Turns
  private let loop: EventLoop

  init(_ parts: CoreParts, loop: EventLoop) {
    places = Purge.Places(
      downloader: parts.downloader, pictures: parts.pictures, renditions: parts.renditions, hub: parts.hub)
    fleet = parts.fleetPurges
    turns = parts.turns
    self.loop = loop
  }

  /// How many purges of one client may wait for the disk before its next request waits for one of them.
  private static let mostWaiting = 64

  /// Removes what matches, and prevents what is on its way from being stored. The client's next request waits until
  /// nothing that matches is found any more; the purge does not end with the client. Other hosts are told when it is
  /// over here.
  func purge(_ purge: PurgeRequest, id: RequestID, from client: ReplyPlace) {
    do throws(WireError) {
      let filter = try PurgeFilter(purge)
      let ticket = client.standBy(id: id)
      client.hold()
      var isHeld = true
      let release = {
        if isHeld { client.release() }
        isHeld = false
      }
      let shared = purge.isForAllHosts ? fleet.note(filter, isSoft: purge.soft) : nil
      let work = Purge(filter, from: purge.tier, isSoft: purge.soft, in: places, loop: loop) { [fleet] memory, disk in
        let answer = { (sending: FleetSending?) in
          client.resume(ticket) {
            Self.answer(purge, matchesAll: filter.matchesAll, memory, disk, sending, id: id, to: client)
          }
        }
        release()
        guard let shared else { return answer(nil) }
        fleet.send(shared, then: answer)
      }
      turns.carryOut {
        if work.step() { return true }
        if client.standingCount < Self.mostWaiting { release() }
        return false
      }
    } catch { client.refuse(id: id, receipt: nil, error) }
  }

  private static func answer(
    _ purge: PurgeRequest, matchesAll: Bool, _ memory: Removal, _ disk: PurgeOutcome, _ sending: FleetSending?,
    id: RequestID, to client: ReplyPlace
  ) {
    if case .unrecorded(let reason, let isFull) = disk {
      return client.refuse(id: id, receipt: nil, .unrecordedPurge(reason, isFull: isFull))
    }
    let entries = memory.entries + disk.removal.entries
    if matchesAll, !purge.soft, entries > 0 {
      let place = purge.tier == .all ? "" : " in \(purge.tier)"
      client.log(.purge, "purged everything\(place), entries: \(entries)", .entries(entries))
    }
    client.reply(id: id) { line in
      line.field("removed", !purge.soft && entries > 0)
      line.object("memory") { $0.removal(memory) }
      if case .done(let disk) = disk { line.object("disk") { $0.removal(disk) } } else { line.field("disk", "pending") }
      if let sending { line.field("fleet", sending.rawValue) }
    }
  }
}

extension PurgeRequest {
  /// When a picture was last used and whether it is fresh are each host's own matter; so is a single tier.
  fileprivate var isForAllHosts: Bool { tier == .all && unusedFor == nil && !expired }
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
