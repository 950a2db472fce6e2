import ImgdCache
import ImgdSystem
import ImgdWire

/// The objects of the core, in the order in which they are made.
struct CoreParts {
  let access: Access
  let turns: Turns
  let desk: ReplyDesk
  let hub: EventHub
  let pictures: PictureTiers
  let own: OwnPictures
  let downloader: Downloader
  let copies: HandedBytes
  let made: MadePictures
  let renditions: Renditions
  let answers: FetchAnswers
  let jobs: FetchJobs
  let fleetPurges: FleetPurges
  let fleet: FleetTier
  let fleetHosts: FleetHosts
  let commands: CommandCounter
  let hits: PlainHits
  let pipeline: FetchPipeline
  let origins: OriginRules
  let ledger: OriginLedger
  let requests: FetchRequests
  let clients: Clients

  init(
    _ settings: Configuration, transfers: any Transfers, decoding: any Decoding, fleet edge: (any Fleet)?,
    disk: DiskTier, loop: EventLoop, in surroundings: Surroundings
  ) {
    access = surroundings.access
    access.apply(settings.control)
    commands = CommandCounter(onCommand: surroundings.onActivity)
    turns = Turns(loop: loop)
    desk = ReplyDesk(loop: loop)
    hub = EventHub(turns: turns, access)
    pictures = PictureTiers(disk: disk, hub: hub, turns: turns, loop: loop, settings: settings)
    own = OwnPictures(access, in: pictures)
    copies = HandedBytes(loop: loop, carryOut: surroundings.copy)
    origins = OriginRules(settings.origins)
    ledger = OriginLedger(origins, memory: pictures.memory, loop: loop)
    downloader = Downloader(
      transfers: transfers, purges: pictures.purges, origins: origins, ledger: ledger, loop: loop, settings: settings)
    fleetPurges = FleetPurges(edge, disk: disk, turns: turns, loop: loop, settings: settings.fleet)
    fleet = FleetTier(
      edge, purges: fleetPurges, pictures: pictures, downloader: downloader, origins: origins, turns: turns, loop: loop,
      settings: settings)
    fleetHosts = FleetHosts(edge, tier: fleet, purges: fleetPurges, loop: loop, settings: settings)
    made = MadePictures(in: pictures, loop: loop)
    renditions = Renditions(
      decoding: decoding, pictures: pictures, made: made, fleet: fleet, access, turns: turns, loop: loop,
      settings: settings)
    answers = FetchAnswers(pictures: pictures, renditions: renditions, loop: loop, settings: settings)
    let ground = FetchGround(
      access: access, origins: origins, ledger: ledger, pictures: pictures, made: made, own: own, fleet: fleet,
      downloader: downloader, copies: copies,
      preparation: FormPreparation(renditions: renditions, pictures: pictures, answers: answers, loop: loop),
      answers: answers, hub: hub, turns: turns, loop: loop)
    jobs = FetchJobs(ground, settings: settings)
    hits = PlainHits(ground, jobs: jobs, commands: commands)
    pipeline = FetchPipeline(ground, jobs: jobs, hits: hits, settings: settings)
    requests = FetchRequests(ground, jobs: jobs, hits: hits, pipeline: pipeline, settings: settings)
    clients = Clients(
      limits: WireLimits(settings.control), access, known: hits, copies: copies, heap: jobs.shares.heap, turns: turns,
      desk: desk, loop: loop)
    own.onFirst = { [unowned clients] in clients.forgetShapes(of: $0) }
    downloader.onPlaces = { [unowned pipeline] in pipeline.startTransfers() }
    let places = Purge.Places(
      downloader: downloader, pictures: pictures, renditions: renditions, hub: hub, fleet: fleet)
    fleetPurges.applied.begin = { filter, isSoft, then in
      Purge(filter, isSoft: isSoft, in: places, loop: loop) { _, _ in then() }.step
    }
  }
}
