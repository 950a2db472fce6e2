// The composition: what there is one of, built in order and taken down in reverse.
//
// Everything here lives on the control loop, which is the thread that calls `run`. The transfer
// engine has a loop and a thread of its own; it hears orders and answers with reports, both of them
// values in mailboxes.

import Glibc
import ImgdCache
import ImgdPicture
import ImgdSystem
import ImgdTransfer
import ImgdWire

final class Daemon {
  static let signals = [SIGTERM, SIGINT, SIGHUP, SIGUSR1]

  /// How long what runs may go on when the daemon is told to stop.
  private static let drainLimit = Duration.seconds(10)
  /// How long clients may take their last lines after that.
  private static let farewellLimit = Duration.seconds(1)
  /// How long the first answer may wait for the index of the disk tier to be opened, and read.
  private static let openLimit = Duration.seconds(5)
  private static let loadLimit = Duration.milliseconds(50)

  private let loop: EventLoop
  private let engine: TransferEngine
  private let pipeline: FetchPipeline
  private let disk: DiskTier
  private let hub: EventHub
  private let server: ControlServer
  private let commands: Commands
  private let reloader: Reloader
  private let service: Service
  private let handover: MemoryHandover
  private let pressure: MemoryPressure
  private let watchdogPeriod: Duration?
  private var signalWatch: SignalWatch?
  private var isServing = false
  private var isStopping = false
  /// Asked for before there was anything to be ready with again.
  private var reloadIsDue = false

  init(
    _ wanted: Configuration, reloadingFrom source: ConfigurationSource,
    in environment: SystemdEnvironment
  ) throws(StartProblem) {
    let inheritance = Inheritance(environment.inherited)
    let listener = try Self.listen(at: wanted.control.socket, inheritance)
    let source = inheritance.socket == nil ? source : source.served(at: listener.path)
    source.warnOfUnusedSocket(in: wanted)
    let configuration = source.adapted(wanted)
    if let problem = configuration.network.certificateProblem {
      Log.warning(.configuration, problem)
    }
    let directory: DiskDirectory?
    do throws(StartProblem) {
      directory = try Self.openDirectory(configuration.disk)
    } catch {
      if error.exitCode == EX_CONFIG {
        FailedStart.turnAway(from: listener, because: error.description)
      }
      listener.close()  // or its file would stay behind
      throw error
    }
    watchdogPeriod = environment.watchdogPeriod
    do throws(SystemFailure) {
      loop = try EventLoop()
      try Log.writeAside(from: loop)
      let manager = try SystemdMessenger(hasManager: environment.hasManager, home: loop)
      // What stays in the manager's store would be passed again at every start.
      for name in inheritance.unknown { manager.post(.removeDescriptors(named: name)) }
      disk = try Self.makeTier(configuration.disk, in: directory, on: loop)
      let parts = try Self.build(configuration, disk: disk, on: loop)
      engine = parts.engine
      pipeline = parts.pipeline
      hub = parts.hub
      reloader = try Reloader(source: source, read: wanted, loop: loop)
      let status = StatusLine(manager, on: loop) { [pipeline] in pipeline.statusText }
      service = Service(manager, status: status)
      handover = MemoryHandover(
        manager, of: pipeline.memory, mostDescriptors: environment.storeLimit,
        inheriting: inheritance.left, loop: loop)
      pressure = MemoryPressure(
        PressureRequest(configuration.memory, environment), loop: loop,
        effects: Self.effects(of: parts, handover))
      commands = Commands(
        pipeline: pipeline, hub: hub, reloader: reloader, pressure: pressure, status: status,
        loop: loop)
      server = try ControlServer(
        listener: listener, commands: commands, limits: WireLimits(configuration.control),
        loop: loop)
    } catch { throw .system(error) }
    commands.server = server
    pipeline.onMemoryPurge = { [handover] in handover.forget() }
    reloader.onBegin = { [service] in service.beginsReload() }
    reloader.onReload = { [unowned self] in apply($0) }
    reloader.onAnswer = { [unowned self] in answer($0) }
  }

  /// The socket that the service manager has handed over, or one of our own.
  private static func listen(
    at path: String, _ inheritance: Inheritance
  ) throws(StartProblem) -> UnixListener {
    do throws(ListenProblem) {
      if let inherited = inheritance.socket { return try UnixListener(adopting: inherited) }
      return try UnixListener(path: path)
    } catch { throw .listening(error) }
  }

  /// The cache directory, or nil when there is none for now: it is tried again later. Somebody
  /// else's directory is no place to start in.
  private static func openDirectory(
    _ settings: Configuration.Disk
  ) throws(StartProblem) -> DiskDirectory? {
    guard settings.enabled else { return nil }
    do throws(DirectoryProblem) {
      return try DiskDirectory.open(settings.directory)
    } catch {
      guard case .unavailable = error else { throw .directory(error) }
      Log.warning(.disk, "no pictures are kept on disk for now: \(error.description)")
      return nil
    }
  }

  private static func makeTier(
    _ settings: Configuration.Disk, in directory: DiskDirectory?, on loop: EventLoop
  ) throws(SystemFailure) -> DiskTier {
    guard settings.enabled else { return DiskTier(offOn: loop) }
    return try DiskTier(
      directory, path: settings.directory, limits: DiskTier.Limits(settings),
      suffixes: PictureFormat.allCases.map(\.fileExtension), loop: loop)
  }

  private struct Parts {
    let engine: TransferEngine
    let pipeline: FetchPipeline
    let hub: EventHub
  }

  private static func build(
    _ configuration: Configuration, disk: DiskTier, on loop: EventLoop
  ) throws(SystemFailure) -> Parts {
    let hub = EventHub()
    let arrivals = Arrivals()
    let mailbox = try loop.makeMailbox { (report: TransferReport) in arrivals.take(report) }
    let engine = try TransferEngine.start(settings: TransferSettings(configuration)) { event in
      mailbox.post(TransferReport(event))
    }
    let downloader = Downloader(engine: engine, loop: loop, settings: configuration.downloads)
    arrivals.take = { [unowned downloader] in downloader.receive($0) }
    let pipeline = FetchPipeline(
      memory: MemoryTier(limits: MemoryTier.Limits(configuration.memory)),
      disk: disk, downloader: downloader, hub: hub, loop: loop, settings: configuration)
    return Parts(engine: engine, pipeline: pipeline, hub: hub)
  }

  /// What is done when memory is short: everything that can be fetched again goes.
  private static func effects(
    of parts: Parts, _ handover: MemoryHandover
  ) -> PressureRelief.Effects {
    PressureRelief.Effects(
      release: {
        let removed = parts.pipeline.removeAll()
        parts.engine.dropPartials()
        handover.forget()
        Heap.giveBack()
        // Again when what was on its way to the disk has got there.
        parts.pipeline.disk.giveBack { Heap.giveBack() }
        return removed
      },
      hold: { parts.pipeline.holdMemory(to: $0) },
      tell: { parts.hub.pressure(source: $0, removed: $1) })
  }

  /// The mailbox has to exist before the engine, and the engine before the downloader.
  private final class Arrivals {
    var take: (TransferReport) -> Void = { _ in }
  }

  // MARK: Life

  /// Serves until told to stop.
  func run() throws(StartProblem) {
    do throws(SystemFailure) {
      signalWatch = try SignalWatch(Self.signals, on: loop) { [unowned self] in take(signal: $0) }
      prepare()
      if !isStopping { try serve() }
    } catch { throw .system(error) }
    loop.run()
    server.closeAll()
    service.closes()
    engine.stop()
    disk.stop()
    handover.leaveForGood()
    service.finish()
  }

  private func serve() throws(SystemFailure) {
    server.open()
    service.isReady()
    isServing = true
    if reloadIsDue { reloader.reload() }
    try service.watch(over: engine, disk, every: watchdogPeriod, on: loop)
  }

  /// What an earlier daemon has left is there before anybody is served, and the index of the disk
  /// tier is open, which its threads see to meanwhile. A small one is read as well; a large one is
  /// read while they are served.
  private func prepare() {
    let begun = Instant.current
    handover.takeOver()
    wait(until: begun + Self.openLimit) { disk.isOpening }
    wait(until: begun + Self.loadLimit) { disk.isLoading }
  }

  private func wait(until timeIsUp: Instant, while isWaiting: () -> Bool) {
    let alarm = loop.schedule(after: timeIsUp - .current) {}
    while isWaiting(), !isStopping, loop.now < timeIsUp { loop.tick(waiting: true) }
    alarm.cancel()
  }

  private func take(signal: CInt) {
    switch signal {
    case SIGHUP: reload()
    case SIGUSR1: pressure.relieve("signal")
    default: isStopping ? endNow() : drain()
    }
  }

  /// Not while it starts, since a reload ends with being ready, and not while it stops.
  private func reload() {
    guard isServing else { return reloadIsDue = true }
    if !isStopping { reloader.reload() }
  }

  private func apply(_ configuration: Configuration) {
    pressure.apply(isWanted: configuration.memory.pressure == .auto)
    engine.apply(TransferSettings(configuration))
    pipeline.apply(configuration)
    server.limits = WireLimits(configuration.control)
  }

  private func answer(_ answer: Reloader.Answer) {
    hub.configuration(wasTaken: answer.isGood)
    if answer.isGood { handover.leaveSnapshot() }
    service.endsReload(refused: answer.refusal)
  }

  // MARK: Stopping

  /// The last lines may be longer than a socket takes at once, and the disk may still be asked for
  /// some of them.
  private func stopWhenSent() {
    loop.atTickEnd { [unowned self] in
      guard server.owesAnswers else { return loop.stop() }
      loop.schedule(after: .milliseconds(20)) { [unowned self] in stopWhenSent() }
    }
  }

  /// Takes nothing new and lets what runs come to its end, for a while; a second signal ends it.
  private func drain() {
    isStopping = true
    service.beginsStop()
    server.stopListening()
    reloader.stop()
    pipeline.drain { [unowned self] in stopWhenSent() }
    loop.schedule(after: Self.drainLimit) { [unowned self] in endWhatRuns() }
  }

  /// Who waits for thousands of answers has to read some before there is room for the rest.
  private func endWhatRuns() {
    refuseAll()
    loop.schedule(after: Self.farewellLimit) { [loop] in loop.stop() }
  }

  /// The last lines go as far as they can be sent at once.
  private func endNow() {
    refuseAll()
    loop.atTickEnd { [unowned self] in loop.stop() }
  }

  /// Everybody who waits gets a last line.
  private func refuseAll() {
    pipeline.endAll(.shuttingDown)
    server.refuseStanding(.shuttingDown)
  }
}
