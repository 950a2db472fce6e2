// The composition: the parts that exist once, built in order and taken down in reverse.
//
// Everything here lives on the control loop, which is the thread that calls `run`. The engines of transfers and of
// the fleet have threads of their own: they get orders and answer with reports, as values in mailboxes.

import Glibc
import ImgdCache
import ImgdFleet
import ImgdPicture
import ImgdProgram
import ImgdSystem
import ImgdTransfer
import ImgdWire

final class Daemon {
  static let signals = [SIGTERM, SIGINT, SIGHUP, SIGUSR1]

  /// How long fetches may continue when the daemon is told to stop.
  private static let drainLimit = Duration.milliseconds(7_500)
  /// When clients must have taken their last lines; the rest of ten seconds is for closing the cache.
  private static let stopLimit = Duration.milliseconds(9_500)
  /// How long the first answer may wait for the index of the disk tier: to be opened, and to be read.
  private static let openLimit = Duration.seconds(5)
  private static let loadLimit = Duration.milliseconds(50)

  private let loop: EventLoop
  private let transfers: TransferThreads
  private let fleet: FleetEngine?
  private let decoders: DecoderPool
  private let core: Core
  private let listener: ControlListener
  private let reloader: Reloader
  private let service: Service
  private let handover: MemoryHandover
  private let pressure: MemoryPressure
  private let routes: RouteWatch
  private let watchdogPeriod: Duration?
  /// The socket and the cache directory, for a person who has started the daemon by hand.
  private let whereabouts: String
  private var signalWatch: SignalWatch?
  private var isServing = false
  private var isStopping = false
  /// Whether a reload was asked for before the daemon was ready.
  private var reloadIsDue = false
  /// One of sysexits; the service manager starts the daemon again unless it is EX_OK.
  private(set) var exitCode = EX_OK

  init(_ wanted: Configuration, reloadingFrom source: ConfigurationSource, in environment: SystemdEnvironment)
    throws(StartProblem)
  {
    let inheritance = Inheritance(environment.inherited)
    let listener = try Self.listen(at: wanted.control.socket, inheritance)
    let source = inheritance.socket == nil ? source : source.served(at: listener.path)
    source.warnOfUnusedSocket(in: wanted)
    let configuration = source.adapted(wanted)
    if let problem = configuration.network.certificateProblem {
      Log.warning(.configuration, .settingDoubtful, problem)
    }
    let directory: Result<DiskDirectory, DirectoryProblem>?
    do throws(StartProblem) { directory = try Self.openDirectory(configuration.disk) } catch {
      if error.exitCode == EX_CONFIG { FailedStart.turnAway(from: listener, because: error.description) }
      listener.close()  // or its file would stay behind
      throw error
    }
    watchdogPeriod = environment.watchdogPeriod
    whereabouts = Self.whereabouts(configuration)
    do throws(SystemFailure) {
      loop = try EventLoop()
      try Log.writeAside(from: loop)
      let manager = try SystemdMessenger(hasManager: environment.hasManager, on: loop)
      // A descriptor that stays in the manager's store would be passed again at every start.
      for name in inheritance.unknown { manager.post(.removeDescriptors(named: name)) }
      let disk = try Self.makeTier(
        configuration.disk, in: directory,
        runtime: environment.runtimeDirectory ?? listener.path.lastIndex(of: "/").map { String(listener.path[..<$0]) },
        on: loop)
      let links = Links()
      transfers = try Self.startTransfers(configuration, on: loop) { [links] in links.core?.receive($0) }
      fleet = try FleetEngine.start(configuration.fleet, on: loop) { [links] in links.core?.receive($0) }
      decoders = try DecoderPool(configuration.decode, loop: loop)
      reloader = try Reloader(source: source, read: wanted, loop: loop)
      let status = StatusLine(manager, on: loop) { [links] in links.core?.statusText ?? "" }
      core = Core(
        configuration, transfers: transfers, decoding: decoders, fleet: fleet, disk: disk, loop: loop,
        in: links.surroundings(reloader, status, configuration.fleet))
      service = Service(manager, status: status)
      handover = MemoryHandover(
        manager, of: core, mostDescriptors: environment.storeLimit, inheriting: inheritance.left, loop: loop)
      pressure = MemoryPressure(
        PressureRequest(configuration.memory, environment), loop: loop,
        effects: Self.effects(on: core, transfers, decoders, handover))
      routes = RouteWatch(configuration.network.offline, on: loop) { [unowned core] isOffline in
        core.changeNetwork(isOffline: isOffline)
        status.noteActivity()
      }
      self.listener = try ControlListener(listener, for: core.clients, loop: loop)
      links.core = core
      links.pressure = pressure
    } catch { throw StartProblem(description: error.description, exitCode: EX_OSERR) }
    core.parts.pictures.onMemoryPurge = { [unowned handover] in handover.forget() }
    if environment.hasManager, source.isManagers(configuration.disk.directory) {
      core.disk.onExclusion = { [unowned self] in endToBeStartedAgain() }
    }
    reloader.onBegin = { [service] in service.beginsReload() }
    reloader.onReload = { [unowned self] in apply($0) }
    reloader.onAnswer = { [unowned self] in answer($0) }
  }

  /// The core and the memory pressure, for closures that are made before them.
  private final class Links {
    weak var core: Core?
    weak var pressure: MemoryPressure?

    func surroundings(_ reloader: Reloader, _ status: StatusLine, _ fleet: Configuration.Fleet) -> Surroundings {
      Surroundings(
        refusal: { [unowned reloader] in reloader.refusal },
        reload: { [unowned reloader] in reloader.reload(then: $0) },
        pressureSource: { [unowned self] in (pressure?.source ?? "none", pressure?.note) },
        onActivity: { status.noteActivity() }, fleetServer: fleet.server.isEmpty ? nil : fleet.server,
        processFacts: ProcessFacts.read, access: Access(owner: geteuid()))
    }
  }

  /// The socket that the service manager has handed over, or one of our own.
  private static func listen(at path: String, _ inheritance: Inheritance) throws(StartProblem) -> UnixListener {
    do throws(ListenProblem) {
      if let inherited = inheritance.socket { return try UnixListener(adopting: inherited) }
      return try UnixListener(path: path)
    } catch { throw StartProblem(description: error.description, exitCode: error.exitCode) }
  }

  /// The cache directory, or why there is none for now: it is tried again later. A directory that belongs
  /// to another user or another daemon ends the start.
  private static func openDirectory(_ settings: Configuration.Disk) throws(StartProblem) -> Result<
    DiskDirectory, DirectoryProblem
  >? {
    guard settings.enabled else { return nil }
    do throws(DirectoryProblem) { return .success(try DiskDirectory.open(settings.directory)) } catch {
      switch error {
      case .taken: throw StartProblem(description: error.description, exitCode: EX_UNAVAILABLE)
      case .unsafe: throw StartProblem(description: error.description, exitCode: EX_CONFIG)
      case .unavailable:
        Log.warning(.disk, .diskUnavailable, "no pictures are kept on disk for now: \(error.description)")
      }
      return .failure(error)
    }
  }

  private static func whereabouts(_ configuration: Configuration) -> String {
    let disk = configuration.disk
    let pictures = disk.enabled ? "keeps pictures in \(disk.directory)" : "keeps pictures in memory only"
    let server = configuration.fleet.server
    return "listens on \(configuration.control.socket), \(pictures)"
      + (server.isEmpty ? "" : ", shares them through \(server)")
  }

  private static func makeTier(
    _ settings: Configuration.Disk, in directory: Result<DiskDirectory, DirectoryProblem>?, runtime: String?,
    on loop: EventLoop
  ) throws(SystemFailure) -> DiskTier {
    guard let directory else { return DiskTier(offOn: loop) }
    return try DiskTier(
      directory, path: settings.directory, runtime: runtime, limits: DiskLimits(settings),
      suffixes: PictureFormat.allCases.map(\.fileExtension), loop: loop)
  }

  private static func startTransfers(
    _ configuration: Configuration, on loop: EventLoop, _ receive: @escaping (TransferReport) -> Void
  ) throws(SystemFailure) -> TransferThreads {
    let mailbox = try loop.makeMailbox(receive)
    let count = configuration.downloads.threadCount
    return try TransferThreads(count: count, settings: TransferSettings(configuration)) { event in
      mailbox.post(TransferReport(event))
    }
  }

  /// What happens when memory is short: everything that can be fetched again is freed.
  private static func effects(
    on core: Core, _ transfers: TransferThreads, _ decoders: DecoderPool, _ handover: MemoryHandover
  ) -> PressureRelief.Effects {
    PressureRelief.Effects(
      release: { released in
        transfers.dropPartials()
        decoders.retireIdle()
        handover.forget()
        core.parts.pictures.emptyMemory { removed in
          Heap.giveBack()
          released(removed)
        }
        // Once more when the pictures on their way to the disk have arrived there.
        core.disk.giveBack { Heap.giveBack() }
      }, hold: { core.parts.pictures.holdMemory(to: $0) }, tell: { core.hub.pressure(source: $0, removed: $1) })
  }

  func run() throws(StartProblem) {
    do throws(SystemFailure) {
      signalWatch = try SignalWatch(Self.signals, on: loop) { [unowned self] in obey(signal: $0) }
      prepare()
      if !isStopping { try serve() }
    } catch { throw StartProblem(description: error.description, exitCode: EX_OSERR) }
    loop.run()
    core.clients.finishNow()
    service.closes()
    decoders.stop()
    transfers.stop()
    // Before the disk: nothing that the fleet might still report is noted any more.
    fleet?.stop()
    core.disk.stop()
    handover.leaveForGood()
    service.finish()
    core.close()
    loop.close()
  }

  private func serve() throws(SystemFailure) {
    listener.open()
    service.isReady()
    isServing = true
    if Log.isWatched || Log.isVerbose { Log.notice(.start, whereabouts) }
    if reloadIsDue { reloader.reload() }
    try service.watch(over: transfers, fleet, core.disk, every: watchdogPeriod, on: loop)
  }

  /// Takes over the memory tier of an earlier daemon, and waits until the disk tier has opened its index. A small
  /// index is read before the first client is served; a large one while clients are served.
  private func prepare() {
    let begun = Instant.current
    handover.takeOver()
    wait(until: begun + Self.openLimit) { core.disk.isOpening }
    wait(until: begun + Self.loadLimit) { core.disk.isLoading }
  }

  private func wait(until timeIsUp: Instant, while isWaiting: () -> Bool) {
    let alarm = loop.schedule(after: timeIsUp - .current) {}
    while isWaiting(), !isStopping, loop.now < timeIsUp { loop.tick(waiting: true) }
    alarm.cancel()
  }

  private func obey(signal: CInt) {
    switch signal {
    case SIGHUP: reload()
    case SIGUSR1: pressure.relieve("signal")
    default: isStopping ? endNow() : drain()
    }
  }

  /// Reloads once the start is over, since a reload ends with being ready, and not while stopping.
  private func reload() {
    guard isServing else { return reloadIsDue = true }
    if !isStopping { reloader.reload() }
  }

  private func apply(_ configuration: Configuration) {
    pressure.apply(isWanted: configuration.memory.pressure == .auto)
    transfers.apply(TransferSettings(configuration))
    fleet?.apply(maxObject: configuration.fleet.maxObject, timeout: configuration.fleet.timeout)
    decoders.apply(configuration.decode)
    core.apply(configuration)
    routes.apply(configuration.network.offline)
  }

  private func answer(_ answer: ReloadAnswer) {
    core.hub.configuration(wasTaken: answer.isGood)
    if answer.isGood { handover.leaveSnapshot() }
    service.endsReload(refused: answer.refusal)
  }

  // MARK: Stopping

  /// Accepts nothing new, and gives the fetches under way some time to finish; a second signal ends them.
  private func drain() {
    isStopping = true
    service.beginsStop()
    listener.close()
    reloader.stop()
    core.drain { [unowned self] in finish() }
    loop.schedule(after: Self.drainLimit) { [unowned self] in
      core.refuseAll(.shuttingDown)
      finish()
    }
    loop.schedule(after: Self.stopLimit) { [loop] in loop.stop() }
  }

  /// Ends because the directory of the pictures was removed: the service manager makes it only at a start.
  private func endToBeStartedAgain() {
    guard isServing, !isStopping else { return }
    Log.warning(
      .disk, .directoryGone,
      "the directory of the pictures is gone, and only systemd can make it: ends, to be started again")
    exitCode = EX_TEMPFAIL
    drain()
  }

  /// Gives every request that has arrived its line, and then ends.
  private func finish() { core.clients.finish { [loop] in loop.stop() } }

  private func endNow() {
    core.refuseAll(.shuttingDown)
    loop.atTickEnd { [loop] in loop.stop() }
  }
}

extension FleetEngine: Fleet {
  /// Nil for a machine without a fleet. Reports arrive on the loop, their pictures already recognised.
  fileprivate static func start(
    _ fleet: Configuration.Fleet, on loop: EventLoop, receive: @escaping (FleetReport) -> Void
  ) throws(SystemFailure) -> FleetEngine? {
    guard let settings = FleetSettings(fleet) else { return nil }
    let mailbox = try loop.makeMailbox(receive)
    return try start(settings: settings) { event in mailbox.post(FleetReport(event)) }
  }
}

extension ProcessFacts {
  static func read() -> ProcessFacts {
    let pages = pages
    return ProcessFacts(
      residentBytes: pages.resident * Int(getpagesize()),
      privateBytes: (pages.resident - pages.shared) * Int(getpagesize()), openDescriptors: openDescriptors)
  }

  /// Resident and shared pages, from `/proc/self/statm`.
  private static var pages: (resident: Int, shared: Int) {
    let number = unsafe open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return (0, 0) }
    defer { close(number) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe Glibc.read(number, &bytes, bytes.count)
    let fields = String(decoding: bytes[..<max(count, 0)], as: UTF8.self).split(separator: " ").map { Int($0) ?? 0 }
    return fields.count > 2 ? (fields[1], fields[2]) : (0, 0)
  }

  private static var openDescriptors: Int {
    // Linux 6.2 and later tell how many there are; to go through ten thousand of them takes as many microseconds.
    let told = (try? FileStatus.of(path: "/proc/self/fd").size) ?? 0
    if told > 0 { return told }
    guard let directory = unsafe opendir("/proc/self/fd") else { return 0 }
    defer { unsafe closedir(directory) }
    var count = 0
    while unsafe readdir(directory) != nil { count += 1 }
    return count - 3  // ".", ".." and the directory itself
  }
}
