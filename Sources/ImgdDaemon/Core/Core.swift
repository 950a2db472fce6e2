// Everything that decides about requests, on one loop. It needs no process: a test gives it a loop
// with a clock of its own, transfers of its own, and one end of a socket pair for each client.

import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// The core of the daemon: clients, commands, fetches, downloads and the two tiers.
final class Core {
  /// The parts of the process that commands reach.
  struct Surroundings {
    /// Reads the configuration again.
    var reload: (_ answered: @escaping (ReloadAnswer) -> Void) -> Void
    /// Which source tells of memory pressure, and why not a better one.
    var pressureSource: () -> (name: String, note: String?)
    /// Told with each command.
    var onActivity: () -> Void
  }

  let pipeline: FetchPipeline
  let clients: Clients
  let hub: EventHub
  let disk: DiskTier
  private let downloader: Downloader
  private let commands: Commands

  init(
    _ configuration: Configuration, transfers: any Transfers, disk: DiskTier, loop: EventLoop,
    in surroundings: Surroundings
  ) {
    self.disk = disk
    hub = EventHub()
    downloader = Downloader(transfers: transfers, loop: loop, settings: configuration.downloads)
    pipeline = FetchPipeline(
      memory: MemoryTier(limits: MemoryTier.Limits(configuration.memory)),
      disk: disk, downloader: downloader, hub: hub, loop: loop, settings: configuration)
    clients = Clients(limits: WireLimits(configuration.control), loop: loop)
    commands = Commands(
      pipeline: pipeline, hub: hub, clients: clients, loop: loop, in: surroundings)
    clients.handle = { [unowned commands] line, session in commands.execute(line, from: session) }
    clients.onDeparture = { [unowned commands] in commands.forget($0) }
  }

  /// Takes in what has become of an order.
  func receive(_ report: TransferReport) {
    downloader.receive(report)
  }

  func apply(_ configuration: Configuration) {
    pipeline.apply(configuration)
    clients.limits = WireLimits(configuration.control)
  }

  var memory: MemoryTier { pipeline.memory }
  var statusText: String { pipeline.statusText }

  /// Told when a purge has taken pictures from memory.
  var onMemoryPurge: () -> Void {
    get { pipeline.onMemoryPurge }
    set { pipeline.onMemoryPurge = newValue }
  }

  /// Empties the memory tier.
  func removeAll() -> Removal { pipeline.removeAll() }

  func holdMemory(to share: MemoryShare) { pipeline.holdMemory(to: share) }

  /// Accepts nothing more, and says when nothing is under way.
  func drain(_ drained: @escaping () -> Void) { pipeline.drain(drained) }

  /// Ends everything that waits for an answer.
  func refuseAll(_ error: WireError) {
    pipeline.endAll(error)
    clients.refuseStanding(error)
  }
}
