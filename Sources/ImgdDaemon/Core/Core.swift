// Everything that decides about requests, on one loop. It needs no process: a test gives it a loop
// with a clock of its own, transfers of its own, and one end of a socket pair for each client.

import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// The objects of the core, in the order in which they are made.
struct CoreParts {
  let turns: Turns
  let desk: ReplyDesk
  let hub: EventHub
  let pictures: PictureTiers
  let downloader: Downloader
  let made: MadePictures
  let renditions: Renditions
  let answers: FetchAnswers
  let jobs: FetchJobs
  let fleetPurges: FleetPurges
  let fleet: FleetTier
  let commands = CommandCounter()
  let hits: PlainHits
  let pipeline: FetchPipeline
  let clients: Clients

  init(
    _ settings: Configuration, transfers: any Transfers, decoding: any Decoding,
    fleet edge: (any Fleet)?, disk: DiskTier, loop: EventLoop
  ) {
    turns = Turns(loop: loop)
    desk = ReplyDesk(loop: loop)
    hub = EventHub(turns: turns)
    pictures = PictureTiers(disk: disk, hub: hub, turns: turns, loop: loop, settings: settings)
    downloader = Downloader(transfers: transfers, loop: loop, settings: settings.downloads)
    fleetPurges = FleetPurges(
      edge, disk: disk, turns: turns, loop: loop, settings: settings.fleet)
    fleet = FleetTier(
      edge, history: fleetPurges.history, pictures: pictures, downloader: downloader,
      turns: turns, loop: loop, settings: settings)
    made = MadePictures(in: pictures, loop: loop)
    renditions = Renditions(
      decoding: decoding, pictures: pictures, made: made, turns: turns, loop: loop,
      settings: settings)
    answers = FetchAnswers(
      pictures: pictures, renditions: renditions, loop: loop, settings: settings)
    let ground = FetchGround(
      pictures: pictures, made: made, fleet: fleet, downloader: downloader,
      preparation: FormPreparation(
        renditions: renditions, pictures: pictures, answers: answers, loop: loop),
      answers: answers, hub: hub, turns: turns, loop: loop)
    jobs = FetchJobs(ground, settings: settings)
    hits = PlainHits(ground, jobs: jobs, commands: commands)
    pipeline = FetchPipeline(ground, jobs: jobs, hits: hits, settings: settings)
    clients = Clients(limits: WireLimits(settings.control), turns: turns, desk: desk, loop: loop)
    downloader.onPlaces = { [unowned pipeline] in pipeline.startTransfers() }
    let places = Purge.Places(
      jobs: jobs, downloader: downloader, pictures: pictures, renditions: renditions, hub: hub)
    fleetPurges.begin = { filter, isSoft, then in
      Purge(filter, isSoft: isSoft, in: places, loop: loop) { _, _ in then() }
    }
  }
}

/// The core of the daemon: clients, commands, fetches, downloads and the two tiers.
final class Core {
  /// The parts of the process that commands reach.
  struct Surroundings {
    /// Reads the configuration again.
    var reload: (_ answered: @escaping (ReloadAnswer) -> Void) -> Void
    /// The source that tells of memory pressure, and why it is not a better one.
    var pressureSource: () -> (name: String, note: String?)
    /// Told with each command.
    var onActivity: () -> Void
    /// Where the fleet's server is; nil for a machine alone.
    var fleetServer: String?
  }

  let parts: CoreParts
  private let commands: Commands

  init(
    _ settings: Configuration, transfers: any Transfers, decoding: any Decoding,
    fleet: (any Fleet)? = nil, disk: DiskTier, loop: EventLoop, in surroundings: Surroundings
  ) {
    parts = CoreParts(
      settings, transfers: transfers, decoding: decoding, fleet: fleet, disk: disk, loop: loop)
    commands = Commands(parts, loop: loop, in: surroundings)
    clients.requests = Clients.Requests(
      answerKnown: { [unowned hits = parts.hits] in
        hits.answer($0, $1, wantsPath: $2, to: $3)
      },
      execute: { [unowned commands] in commands.execute($0, from: $1) })
    parts.commands.onCommand = surroundings.onActivity
    disk.onNews = { [unowned hub = parts.hub] news in
      hub.tell(news)
      surroundings.onActivity()
    }
    clients.onDeparture = { [unowned commands] in commands.forget($0) }
  }

  var clients: Clients { parts.clients }
  var hits: PlainHits { parts.hits }
  var hub: EventHub { parts.hub }
  var disk: DiskTier { parts.pictures.disk }
  var fleet: FleetTier { parts.fleet }
  var memory: MemoryTier { parts.pictures.memory }

  /// Told when a purge has taken pictures from memory.
  var onMemoryPurge: () -> Void {
    get { parts.pictures.onMemoryPurge }
    set { parts.pictures.onMemoryPurge = newValue }
  }

  /// Takes in a report of the transfers.
  func receive(_ report: TransferReport) { parts.pipeline.receive(report) }

  /// Takes in a report of the fleet.
  func receive(_ report: FleetReport) {
    parts.fleetPurges.receive(report.event)
    parts.fleet.receive(report)
  }

  func apply(_ settings: Configuration) {
    parts.fleet.apply(settings)
    parts.fleetPurges.apply(settings.fleet)
    parts.pictures.apply(settings)
    parts.renditions.apply(settings)
    parts.answers.apply(settings)
    parts.jobs.apply(settings)
    parts.pipeline.apply(settings)
    parts.downloader.apply(settings.downloads)
    parts.pipeline.startTransfers()
    clients.limits = WireLimits(settings.control)
  }

  // MARK: Memory

  /// Empties the memory tier; `then` is told what was in it.
  func emptyMemory(then: @escaping (Removal) -> Void) { parts.pictures.emptyMemory(then: then) }

  /// Makes a picture that an earlier process has left in memory known to the requests that it fits.
  func inherit(_ image: CachedImage) { parts.pictures.variants.inherit(image) }

  func holdMemory(to share: MemoryShare) { parts.pictures.holdMemory(to: share) }

  // MARK: The end of service

  /// Says when no fetch is under way; none may begin from now on.
  func drain(_ drained: @escaping () -> Void) { parts.jobs.drain(drained) }

  /// Ends everything that waits for an answer.
  func refuseAll(_ error: WireError) {
    parts.jobs.endAll(error)
    parts.fleet.end()
    clients.refuseStanding(error)
  }

  /// Lets go of the work that was not done when the loop stopped: it would keep the core for ever.
  func close() { parts.turns.removeAll() }

  /// The activity, in one line for everybody who looks: numbers, and no URL.
  var statusText: String {
    let counts = memory.counts
    let lookups = counts.hits + counts.misses
    let share = lookups > 0 ? "\(counts.hits * 100 / lookups) %" : "no"
    return "downloading \(parts.downloader.activeCount), "
      + "waiting \(parts.downloader.queuedCount); "
      + "\(memory.count) pictures in memory (\(memory.usage >> 20) MB), \(disk.count) on disk; "
      + "\(share) hits" + troubles
  }

  /// What is not in order, behind the rest of the line.
  private var troubles: String {
    var text = ""
    if let reason = disk.reason { text += "; the disk tier is \(disk.state.rawValue): \(reason)" }
    if let trouble = fleet.trouble { text += "; the fleet is \(trouble)" }
    return text
  }
}
