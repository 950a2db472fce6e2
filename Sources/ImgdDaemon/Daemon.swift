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
  private var signalWatch: SignalWatch?
  private var isStopping = false

  init(
    _ configuration: Configuration, reloadingFrom source: ConfigurationSource
  ) throws(StartProblem) {
    let listener: UnixListener
    do throws(ListenProblem) {
      listener = try UnixListener(path: configuration.control.socket)
    } catch { throw .listening(error) }
    let directory = try Self.openDirectory(configuration.disk)
    do throws(SystemFailure) {
      loop = try EventLoop()
      disk = try Self.makeTier(configuration.disk, in: directory, on: loop)
      let parts = try Self.build(configuration, disk: disk, on: loop)
      engine = parts.engine
      pipeline = parts.pipeline
      hub = parts.hub
      reloader = try Reloader(source: source, current: configuration, loop: loop)
      commands = Commands(pipeline: pipeline, hub: hub, reloader: reloader, loop: loop)
      server = try ControlServer(
        listener: listener, commands: commands, limits: WireLimits(configuration.control),
        loop: loop)
    } catch { throw .system(error) }
    commands.server = server
    reloader.onReload = { [unowned self] in apply($0) }
    reloader.onAnswer = { [unowned self] in hub.configuration(wasTaken: $0.isGood) }
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
      Log.warning("no pictures are kept on disk for now: \(error.description)")
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

  /// The mailbox has to exist before the engine, and the engine before the downloader.
  private final class Arrivals {
    var take: (TransferReport) -> Void = { _ in }
  }

  // MARK: Life

  /// Serves until told to stop.
  func run() throws(StartProblem) {
    do throws(SystemFailure) {
      signalWatch = try SignalWatch(Self.signals, on: loop) { [unowned self] in take(signal: $0) }
    } catch { throw .system(error) }
    loadIndex()
    server.open()
    loop.run()
    server.closeAll()
    engine.stop()
    disk.stop()
    reloader.stop()
  }

  /// The index is opened before anybody is served, and a small one is read; a large one is read
  /// while they are.
  private func loadIndex() {
    wait(atMost: Self.openLimit) { disk.isOpening }
    wait(atMost: Self.loadLimit) { disk.isLoading }
  }

  private func wait(atMost limit: Duration, while isWaiting: () -> Bool) {
    let timeIsUp = loop.now + limit
    let alarm = loop.schedule(after: limit) {}
    while isWaiting(), loop.now < timeIsUp { loop.tick(waiting: true) }
    alarm.cancel()
  }

  private func take(signal: CInt) {
    switch signal {
    case SIGHUP: reloader.reload()
    case SIGUSR1: giveMemoryBack()
    default: isStopping ? loop.stop() : drain()
    }
  }

  /// What memory pressure will do, by hand: the memory tier is emptied and the heap given back.
  private func giveMemoryBack() {
    let removed = pipeline.removeAll()
    engine.dropPartials()
    hub.pressure(source: "signal", removed: removed)
    Heap.giveBack()
    Log.notice("gave back \(removed.bytes) bytes of \(removed.entries) pictures on SIGUSR1")
  }

  private func apply(_ configuration: Configuration) {
    engine.apply(TransferSettings(configuration))
    pipeline.apply(configuration)
    server.limits = WireLimits(configuration.control)
  }

  // MARK: Stopping

  /// The last lines may be longer than a socket takes at once.
  private func stopWhenSent() {
    loop.atTickEnd { [unowned self] in
      guard server.isSending else { return loop.stop() }
      loop.schedule(after: .milliseconds(20)) { [unowned self] in stopWhenSent() }
    }
  }

  /// Takes nothing new and lets what runs come to its end, for a while; a second signal ends it.
  private func drain() {
    isStopping = true
    server.stopListening()
    pipeline.drain { [unowned self] in stopWhenSent() }
    loop.schedule(after: Self.drainLimit) { [unowned self] in
      pipeline.endAll(.shuttingDown)
      loop.atTickEnd { [unowned self] in loop.stop() }
    }
  }
}
