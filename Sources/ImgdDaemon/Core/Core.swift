// Everything that decides about requests, on one loop. It needs no process: a test gives it a loop
// with a clock of its own, transfers of its own, and one end of a socket pair for each client.

import ImgdCache
import ImgdSystem
import ImgdWire

final class Core {
  let parts: CoreParts
  private let commands: Commands

  init(
    _ settings: Configuration, transfers: any Transfers, decoding: any Decoding, fleet: (any Fleet)? = nil,
    disk: DiskTier, loop: EventLoop, in surroundings: Surroundings
  ) {
    parts = CoreParts(
      settings, transfers: transfers, decoding: decoding, fleet: fleet, disk: disk, loop: loop, in: surroundings)
    commands = Commands(parts, loop: loop, in: surroundings)
    clients.execute = { [unowned commands] in commands.execute($0, from: $1) }
    disk.onNews = { [unowned hub = parts.hub] news in
      hub.tell(news)
      surroundings.onActivity()
    }
    clients.onDeparture = { [unowned commands] in commands.forget($0) }
  }

  var clients: Clients { parts.clients }
  var hub: EventHub { parts.hub }
  var disk: DiskTier { parts.pictures.disk }
  var fleet: FleetTier { parts.fleet }
  var memory: MemoryTier { parts.pictures.memory }

  func receive(_ report: TransferReport) { parts.pipeline.receive(report) }

  func receive(_ report: FleetReport) {
    parts.fleetPurges.receive(report.event)
    parts.fleet.receive(report)
    parts.fleetHosts.receive(report.event)
  }

  func apply(_ settings: Configuration) {
    parts.access.apply(settings.control)
    parts.hits.review()
    if parts.origins.apply(settings.origins) { removeFormerKeys() }
    parts.ledger.reviewSections()
    parts.fleet.apply(settings)
    parts.fleetPurges.apply(settings.fleet)
    parts.fleetHosts.apply(settings)
    parts.pictures.apply(settings)
    parts.renditions.apply(settings)
    parts.answers.apply(settings)
    parts.jobs.apply(settings)
    parts.pipeline.apply(settings)
    parts.requests.apply(settings)
    parts.downloader.apply(settings)
    parts.pipeline.startTransfers()
    clients.limits = WireLimits(settings.control)
    // Others may be shown what a URL alone stands for now.
    clients.forgetShapes()
  }

  /// Takes in that the last route out of this machine has gone, or that there is one again.
  func changeNetwork(isOffline: Bool) { parts.pipeline.changeNetwork(isOffline: isOffline) }

  func inherit(_ image: CachedImage) {
    parts.pictures.variants.inherit(image)
    parts.own.inherit(image)
  }

  /// Removes from memory what other rules for keys have left there: a request for such a URL means another key, but one
  /// whose line has a known shape would be shown it.
  func removeFormerKeys() {
    guard !parts.origins.isEmpty else { return }
    var sweep = memory.beginRemoval { [origins = parts.origins] image in !origins.isKey(image.url) }
    parts.turns.carryOut { [memory] in memory.goOn(with: &sweep) }
  }

  func drain(_ drained: @escaping () -> Void) {
    parts.jobs.drain(drained)
    parts.hits.review()
  }

  /// Ends everything that waits for an answer.
  func refuseAll(_ error: WireError) {
    parts.jobs.endAll(error)
    parts.fleet.giveBackAll()
    clients.refuseStanding(error)
  }

  /// Drops the work that was not done when the loop stopped: it would keep the core alive for ever.
  func close() {
    parts.turns.removeAll()
    parts.copies.close()
  }

  /// The activity, in one line that everybody may read: numbers, and no URL.
  var statusText: String {
    let counts = memory.counts
    let lookups = counts.hits + counts.misses
    let share = lookups > 0 ? "\(counts.hits * 100 / lookups) %" : "no"
    var text =
      "downloading \(parts.downloader.places.active), waiting \(parts.downloader.queuedCount); "
      + "\(memory.count) pictures in memory (\(memory.usage >> 20) MB), \(disk.count) on disk; \(share) hits"
    if parts.downloader.reach.isOffline { text += "; offline: no route leads out of this machine" }
    if let reason = disk.reason { text += "; the disk tier is \(disk.state.rawValue): \(reason)" }
    if let trouble = fleet.trouble { text += "; the fleet is \(trouble)" }
    return text
  }
}

/// The parts of the process that commands reach.
struct Surroundings {
  /// Why the last reload has changed nothing; nil if it was good.
  var refusal: () -> String? = { nil }
  var reload: (_ answered: @escaping (ReloadAnswer) -> Void) -> Void
  /// The source that reports memory pressure, and why no better one is used.
  var pressureSource: () -> (name: String, note: String?)
  /// Called for each command, and for news of the disk tier.
  var onActivity: () -> Void
  /// Where the fleet's server is; nil for a machine without a fleet.
  var fleetServer: String?
  var processFacts: () -> ProcessFacts
  var access: Access
  /// Copies what clients hand in, on a thread; only a test names another.
  var copy: @Sendable (HandedBytes.Work) -> HandedBytes.Outcome? = HandedBytes.copy
}
