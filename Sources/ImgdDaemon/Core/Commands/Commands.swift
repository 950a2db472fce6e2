import ImgdProgram
import ImgdSystem
import ImgdWire

/// The commands of the protocol: each request line goes to the object that carries it out.
final class Commands {
  private let requests: FetchRequests
  private let jobs: FetchJobs
  private let hub: EventHub
  private let commands: CommandCounter
  private let collecting: CollectCommands
  private let inspection: InspectCommands
  private let purging: PurgeCommand
  private let stats: StatsCommand
  private let service: ServiceCommands

  init(_ parts: CoreParts, loop: EventLoop, in surroundings: Surroundings) {
    requests = parts.requests
    jobs = parts.jobs
    hub = parts.hub
    commands = parts.commands
    collecting = CollectCommands(parts)
    inspection = InspectCommands(parts, loop: loop)
    purging = PurgeCommand(parts, loop: loop)
    stats = StatsCommand(parts, loop: loop, in: surroundings)
    service = ServiceCommands(parts, reload: surroundings.reload)
  }

  func execute(_ line: ParsedLine, from client: ReplyPlace) {
    commands.countCommand()
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
    case .cancel(let target): collecting.cancel(target, id: id, from: client)
    case .wait(let wait): collecting.wait(wait, id: id, from: client)
    case .list(let page): inspection.list(page, id: id, for: client)
    case .slots(let page): inspection.slots(page, id: id, of: client)
    case .purge(let purge): purging.purge(purge, id: id, from: client)
    case .stats: stats.stats(id: id, for: client)
    case .query(let query): inspection.query(query, id: id, for: client)
    case .entries(let entries): inspection.entries(entries, id: id, for: client)
    case .subscribe(let topics): service.subscribe(to: topics, id: id, for: client)
    case .hello: service.hello(id: id, for: client)
    case .ping: client.reply(id: id) { _ in }
    case .config: service.config(id: id, for: client)
    case .reload: service.reload(id: id, for: client)
    }
  }

  /// Forgets a connection that has ended: it hears no more, and its fetches are cancelled unless
  /// detached.
  func forget(_ client: ReplyPlace) {
    hub.unsubscribe(client)
    jobs.abandon(client)
  }
}
