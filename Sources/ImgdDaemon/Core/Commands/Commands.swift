import ImgdCache
import ImgdProgram
import ImgdSystem
import ImgdWire

/// The commands of the protocol: each request line goes to the object that carries it out.
final class Commands {
  private let requests: FetchRequests
  private let jobs: FetchJobs
  private let hub: EventHub
  private let commands: CommandCounter
  private let access: Access
  private let collecting: CollectCommands
  private let inspection: InspectCommands
  private let purging: PurgeCommand
  private let stats: StatsCommand
  private let activity: ActivityCommands
  private let origins: OriginsCommand
  private let fleet: FleetCommand
  private let service: ServiceCommands

  init(_ parts: CoreParts, loop: EventLoop, in surroundings: Surroundings) {
    requests = parts.requests
    jobs = parts.jobs
    hub = parts.hub
    commands = parts.commands
    access = parts.access
    collecting = CollectCommands(parts)
    inspection = InspectCommands(parts, loop: loop)
    purging = PurgeCommand(parts, loop: loop)
    origins = OriginsCommand(parts, loop: loop)
    activity = ActivityCommands(parts, loop: loop)
    fleet = FleetCommand(parts, server: surroundings.fleetServer)
    stats = StatsCommand(parts, origins: origins, loop: loop, in: surroundings)
    service = ServiceCommands(parts, reload: surroundings.reload, refusal: surroundings.refusal)
  }

  func execute(_ line: ParsedLine, from client: ReplyPlace) {
    commands.countCommand()
    client.requests += 1
    switch line.outcome {
    case .request(let request): execute(request, id: line.id, from: client)
    case .refused(let error):
      Log.debug(.client) { "refused uid \(client.peer.uid): \(error.message)" }
      let refused = FetchJobs.Refused(slot: line.slot, id: line.id, receipt: line.receipt, url: line.url)
      jobs.refuse(refused, error, to: client)
    }
  }

  private func execute(_ request: Request, id: RequestID, from client: ReplyPlace) {
    switch request {
    case .fetch(let fetch): requests.fetch(fetch, id: id, from: client)
    case .put(let put): requests.put(put, id: id, from: client)
    case .cancel(let target): collecting.cancel(target, id: id, from: client)
    case .wait(let wait): collecting.wait(wait, id: id, from: client)
    case .list(let page): inspection.list(page, id: id, for: client)
    case .slots(let page): inspection.slots(page, id: id, of: client)
    case .purge(let purge): purging.purge(purge, id: id, from: client)
    case .stats: stats.stats(id: id, for: client)
    case .origins(let page) where access.seesEverything(client.peer): origins.origins(page, id: id, for: client)
    case .origins: client.refuse(id: id, receipt: nil, .onlyForAdmins("what is known of all origins"))
    case .clients(let page): activity.clients(page, id: id, for: client)
    case .failures(let page): activity.failures(page, id: id, for: client)
    case .fleet(let page) where access.seesEverything(client.peer): fleet.hosts(page, id: id, for: client)
    case .fleet: client.refuse(id: id, receipt: nil, .onlyForAdmins("the hosts of the fleet"))
    case .query(let query): inspection.query(query, id: id, for: client)
    case .entries(let entries): inspection.entries(entries, id: id, for: client)
    case .subscribe(let topics): service.subscribe(to: topics, id: id, for: client)
    case .hello: service.hello(id: id, for: client)
    case .ping: client.reply(id: id) { _ in }
    case .config: service.config(id: id, for: client)
    case .reload: service.reload(id: id, for: client)
    }
  }

  func forget(_ client: ReplyPlace) {
    hub.unsubscribe(client)
    jobs.abandon(client)
  }
}

/// `cancel` and `wait`: fetches that are ended before their time, and outcomes that are collected.
final class CollectCommands {
  private let jobs: FetchJobs
  private let answers: FetchAnswers
  private let access: Access

  init(_ parts: CoreParts) {
    jobs = parts.jobs
    answers = parts.answers
    access = parts.access
  }

  /// Ends fetches before their time; their lines come before the answer to this.
  func cancel(_ target: CancelTarget, id: RequestID, from client: ReplyPlace) {
    switch target {
    case .receipt(let receipt): cancel(receipt, id: id, from: client)
    case .slot(let name):
      let running = { [jobs] in jobs.fetches(of: client)?.slots[name]?.running ?? JobRoll() }
      let part = { running().part(after: $0, most: $1) }
      cancel(upTo: running().newest, part, id: id, from: client) { _ in true }
    case .tag(let tag): cancel(tag: tag, id: id, from: client)
    case .all: cancel(tag: nil, id: id, from: client)
    }
  }

  private func cancel(tag: String?, id: RequestID, from client: ReplyPlace) {
    let part = { [jobs] in jobs.part(of: tag, after: $0, most: $1) }
    cancel(upTo: jobs.newest, part, id: id, from: client) { [unowned self] in mayEnd($0, client) }
  }

  private func cancel(_ receipt: ReceiptID, id: RequestID, from client: ReplyPlace) {
    guard let job = jobs[receipt] else {
      return answer(receipt, state: jobs.hasEnded(receipt) ? "finished" : "unknown", id, client)
    }
    guard mayEnd(job, client) else {
      return client.refuse(id: id, receipt: receipt, .notYours(receipt))
    }
    let state = job.state.rawValue
    let others = listeners(to: job, besides: client)
    jobs.cancel(job)
    for other in others { other.flush() }
    answer(receipt, state: state, id, client)
  }

  private func answer(_ receipt: ReceiptID, state: String, _ id: RequestID, _ client: ReplyPlace) {
    client.reply(id: id) { line in
      line.field("receipt", receipt)
      line.field("state", state)
    }
  }

  /// Ends the fetches that a `cancel` covers, in the turns of the client that has asked for it.
  private func cancel(
    upTo newest: UInt64, _ part: @escaping (_ number: UInt64, _ most: Int) -> MassEnding.Part, id: RequestID,
    from client: ReplyPlace, where isMeant: @escaping (FetchJob) -> Bool
  ) {
    // Their lines leave at once, so that they are there before the answer.
    var others: [UInt64: ReplyPlace] = [:]
    let ending = MassEnding(upTo: newest, part, where: isMeant) { [unowned self] job in
      for other in listeners(to: job, besides: client) { others[other.number] = other }
      jobs.cancel(job)
    }
    client.walk {
      let hasMore = ending.step()
      for other in others.values { other.flush() }
      others = [:]
      if hasMore { return true }
      client.reply(id: id) { $0.field("cancelled", ending.count) }
      return false
    }
  }

  /// The other connections that get a line when the fetch ends.
  private func listeners(to job: FetchJob, besides client: ReplyPlace) -> [ReplyPlace] {
    ([job.client] + job.collectors.map(\.openClient)).compactMap { $0 === client ? nil : $0 }
  }

  /// Collects the outcome of a detached fetch, now or when it has ended.
  func wait(_ wait: WaitRequest, id: RequestID, from client: ReplyPlace) {
    let receipt = wait.receipt
    let kept = jobs[receipt] == nil ? jobs.outcome(of: receipt) : nil
    guard let job = jobs[receipt] ?? kept?.job else {
      return client.refuse(id: id, receipt: receipt, .unknown(receipt))
    }
    guard mayEnd(job, client) else {
      return client.refuse(id: id, receipt: receipt, .notYours(receipt))
    }
    if let kept {
      return answers.write(kept.outcome, to: Recipient(client, of: job, id: id, delivery: wait.delivery))
    }
    guard client.hasRoomToStandBy else {
      return client.refuse(id: id, receipt: receipt, .tooManyReceipts(limit: client.limits.receipts))
    }
    let ticket = client.standBy(id: id, receipt: receipt)
    job.collectors.append(FetchJob.Collector(client: client, ticket: ticket, id: id, delivery: wait.delivery))
  }

  private func mayEnd(_ job: FetchJob, _ client: ReplyPlace) -> Bool {
    access.mayEnd(workOf: job.uid, by: client.peer)
  }
}

/// The commands about the daemon itself: `hello`, `config`, `reload`, `subscribe`.
final class ServiceCommands {
  /// The most fetches that a snapshot shows; `list` has the others.
  private static let mostJobs = 100
  /// How many are looked at for one's own.
  private static let mostExamined = 1_024
  /// The features that a client may rely on, by name.
  private static let features = [
    "inline", "fd", "slots", "subscribe", "wait", "detach", "tags", "ttl", "progress", "put", "fd_in",
  ]
  private static let featuresOfDecoder = ["pixels", "resize", "format", "describe"]

  private let parts: CoreParts
  private let instance: ReceiptID
  private var prepared: (settings: Configuration, json: [UInt8])?
  private let refusal: () -> String?
  private let readAgain: (_ answered: @escaping (ReloadAnswer) -> Void) -> Void

  init(
    _ parts: CoreParts, reload: @escaping (_ answered: @escaping (ReloadAnswer) -> Void) -> Void,
    refusal: @escaping () -> String?
  ) {
    self.parts = parts
    self.refusal = refusal
    readAgain = reload
    var receipts = ReceiptSource()
    instance = receipts.next()
  }

  func hello(id: RequestID, for client: ReplyPlace) {
    parts.renditions.tellAbilities(to: client, id: id) { [self] abilities, _ in
      client.reply(id: id) { line in
        line.field("protocol", 1)
        line.field("server", "imgd")
        line.field("version", Release.version)
        line.array("features") { line in
          for name in Self.features { line.value(name) }
          if case .success = abilities { for name in Self.featuresOfDecoder { line.value(name) } }
        }
        line.object("decode") { $0.abilities(abilities) }
        line.object("limits") { $0.limits(client.limits, of: parts.requests.settings) }
        line.field("instance", instance)
      }
    }
  }

  func config(id: RequestID, for client: ReplyPlace) {
    client.walk { [self] in
      client.reply(id: id) { line in
        line.name("config")
        line.encoded(configuration())
        if let refusal = refusal() { line.field("refused", refusal) }
      }
      return false
    }
  }

  /// The configuration as JSON, written once while it is in force.
  private func configuration() -> [UInt8] {
    let settings = parts.requests.settings
    if let prepared, prepared.settings == settings { return prepared.json }
    var line = JSONWriter()
    line.object { line in
      for section in settings.sections {
        line.name(section.title)
        line.object { line in
          for key in section.keys {
            line.name(key.name)
            line.value(key.text(settings))
          }
        }
      }
    }
    prepared = (settings, line.bytes)
    return line.bytes
  }

  func reload(id: RequestID, for client: ReplyPlace) {
    guard !parts.jobs.isDraining else { return client.refuse(id: id, receipt: nil, .shuttingDown) }
    guard client.hasRoomToStandBy else {
      return client.refuse(id: id, receipt: nil, .tooManyReceipts(limit: client.limits.receipts))
    }
    let ticket = client.standBy(id: id)
    readAgain { answer in
      client.resume(ticket) {
        switch answer {
        case .refused(let problems): client.refuse(id: id, receipt: nil, .badConfiguration(problems))
        case .stopping: client.refuse(id: id, receipt: nil, .shuttingDown)
        case .changed(let keys, let waiting):
          client.reply(id: id) { line in
            line.array("changed") { line in for key in keys { line.value(key) } }
            if !waiting.isEmpty { line.array("needs_restart") { line in for key in waiting { line.value(key) } } }
          }
        }
      }
    }
  }

  func subscribe(to topics: Topics, id: RequestID, for client: ReplyPlace) {
    parts.hub.subscribe(client, to: topics)
    client.reply(id: id) { line in
      line.array("events") { line in for name in topics.names { line.value(name) } }
      line.object("snapshot") { line in
        if parts.access.seesEverything(client.peer) { totals(in: &line) }
        jobs(for: client, in: &line)
      }
    }
  }

  private func totals(in line: inout JSONWriter) {
    line.object("downloads") { line in
      line.field("active", parts.downloader.places.active)
      line.field("queued", parts.downloader.queuedCount)
    }
    line.object("memory") { line in
      line.field("entries", parts.pictures.memory.count)
      line.field("bytes", parts.pictures.memory.usage)
    }
  }

  private func jobs(for client: ReplyPlace, in line: inout JSONWriter) {
    let seesAll = parts.access.seesEverything(client.peer)
    let jobs = parts.jobs.part(after: 0, most: seesAll ? Self.mostJobs : Self.mostExamined).members
      .lazy.filter { seesAll || $0.uid == client.peer.uid }.prefix(Self.mostJobs)
    line.array("jobs") { line in
      for job in jobs {
        line.object { line in
          line.field("receipt", job.receipt)
          line.field("url", job.url.text)
          line.field("state", job.state.rawValue)
        }
      }
    }
    let count = seesAll ? parts.jobs.count : parts.jobs.shares.holding(of: client.peer.uid).requests
    let omitted = count - jobs.count
    if omitted > 0 { line.field("jobs_omitted", omitted) }
  }
}

enum ReloadAnswer {
  /// The keys with a new value; the `waiting` ones among them take effect at a restart.
  case changed([String], waiting: [String])
  case refused(ConfigurationProblems)
  /// The daemon is stopping, and has not read it.
  case stopping

  /// Why nothing has changed; nil when the configuration was good.
  var refusal: String? { if case .refused(let problems) = self { problems.summary } else { nil } }

  var isGood: Bool { refusal == nil }
}

extension JSONWriter {
  fileprivate mutating func limits(_ limits: WireLimits, of settings: Configuration) {
    fields([
      "line": limits.line, "url": WireLimits.url, "inline": settings.control.maxInline,
      "identifier": WireLimits.identifier, "slot": WireLimits.slot, "tags": WireLimits.tags, "tag": WireLimits.tag,
      "clients": limits.connections, "receipts_per_connection": limits.receipts, "queued": limits.queued,
      "request_bytes": limits.requestBytes, "unsent_bytes": limits.unsentOutput,
      "unsent_descriptors": limits.unsentDescriptors, "max_bytes": settings.downloads.maxBytes,
      "max_active": settings.downloads.maxActive,
    ])
  }
}
