import ImgdSystem
import ImgdWire

/// The commands of the protocol: each request line goes to the object that carries it out.
final class Commands {
  private let pipeline: FetchPipeline
  private let jobs: FetchJobs
  private let hub: EventHub
  private let clients: Clients
  private let collecting: CollectCommands
  private let inspection: InspectCommands
  private let purging: PurgeCommand
  private let stats: StatsCommand
  private let service: ServiceCommands
  private let onActivity: () -> Void

  init(_ parts: CoreParts, loop: EventLoop, in surroundings: Core.Surroundings) {
    pipeline = parts.pipeline
    jobs = parts.jobs
    hub = parts.hub
    clients = parts.clients
    onActivity = surroundings.onActivity
    collecting = CollectCommands(jobs: parts.jobs, answers: parts.answers)
    inspection = InspectCommands(jobs: parts.jobs, pictures: parts.pictures, loop: loop)
    purging = PurgeCommand(pipeline: parts.pipeline)
    stats = StatsCommand(parts, loop: loop, pressureSource: surroundings.pressureSource)
    service = ServiceCommands(parts, reload: surroundings.reload)
  }

  func execute(_ line: ParsedLine, from session: ClientSession) {
    clients.countCommand()
    onActivity()
    switch line.outcome {
    case .request(let request): execute(request, id: line.id, from: session)
    case .refused(let error): refuse(line, error, to: session)
    }
  }

  /// A fetch that is refused for its URL takes its slot all the same.
  private func refuse(_ line: ParsedLine, _ error: WireError, to session: ClientSession) {
    if let slot = line.slot { jobs.supersede(slot, of: session, by: line.receipt) }
    session.refuse(id: line.id, receipt: line.receipt, error)
  }

  private func execute(_ request: Request, id: RequestID, from session: ClientSession) {
    switch request {
    case .fetch(let fetch): pipeline.fetch(fetch, id: id, from: session)
    case .cancel(let target): collecting.cancel(target, id: id, from: session)
    case .wait(let wait): collecting.wait(wait, id: id, from: session)
    case .list: inspection.list(id: id, for: session)
    case .slots: inspection.slots(id: id, of: session)
    case .purge(let purge): purging.purge(purge, id: id, from: session)
    case .stats: stats.stats(id: id, for: session)
    case .query(let url, let identifier):
      inspection.query(url, identifier: identifier, id: id, for: session)
    case .entries(let entries): inspection.entries(entries, id: id, for: session)
    case .subscribe(let topics): service.subscribe(to: topics, id: id, for: session)
    case .hello: service.hello(id: id, for: session)
    case .ping: session.reply(id: id) { _ in }
    case .config: service.config(id: id, for: session)
    case .reload: service.reload(id: id, for: session)
    }
  }

  /// A connection has ended: it hears no more, and its fetches are cancelled unless detached.
  func forget(_ session: ClientSession) {
    hub.unsubscribe(session)
    jobs.abandon(session)
  }
}
