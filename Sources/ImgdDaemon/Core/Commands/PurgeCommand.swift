import ImgdCache
import ImgdWire

/// `purge`: removes pictures, or marks them stale.
final class PurgeCommand {
  private let pipeline: FetchPipeline

  init(pipeline: FetchPipeline) {
    self.pipeline = pipeline
  }

  /// Removes what matches, and keeps what is on its way from being stored.
  func purge(_ purge: PurgeRequest, id: RequestID, from session: ClientSession) {
    do throws(WireError) {
      let filter = try PurgeFilter(purge)
      let ticket = session.standBy(id: id)
      pipeline.purge(filter, tiers: purge.tier, marksOnly: purge.soft) {
        memory, disk in
        session.resume(ticket) {
          Self.answer(purge, matchesAll: filter.matchesAll, memory, disk, id: id, to: session)
        }
      }
    } catch {
      session.refuse(id: id, receipt: nil, error)
    }
  }

  private static func answer(
    _ purge: PurgeRequest, matchesAll: Bool, _ memory: Removal, _ disk: Removal, id: RequestID,
    to session: ClientSession
  ) {
    let entries = memory.entries + disk.entries
    if matchesAll, !purge.soft, entries > 0 {
      let place = purge.tier == .all ? "" : " in \(purge.tier)"
      session.log(.purge, "purged everything\(place), entries: \(entries)", .entries(entries))
    }
    session.reply(id: id) { line in
      line.field("removed", !purge.soft && entries > 0)
      line.object("memory") { $0.removal(memory) }
      line.object("disk") { $0.removal(disk) }
    }
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
