import ImgdCache
import ImgdSystem
import ImgdWire

/// What a client can ask for: one method a command, the larger ones in files of their own.
final class Commands {
  let pipeline: FetchPipeline
  let hub: EventHub
  let clients: Clients
  let surroundings: Core.Surroundings
  let loop: EventLoop
  let startedAt: Instant
  let instance: ReceiptID

  init(
    pipeline: FetchPipeline, hub: EventHub, clients: Clients, loop: EventLoop,
    in surroundings: Core.Surroundings
  ) {
    self.pipeline = pipeline
    self.hub = hub
    self.clients = clients
    self.surroundings = surroundings
    self.loop = loop
    startedAt = loop.now
    var receipts = ReceiptSource()
    instance = receipts.next()
  }

  func execute(_ line: ParsedLine, from session: ClientSession) {
    clients.countCommand()
    surroundings.onActivity()
    switch line.outcome {
    case .request(let request): execute(request, id: line.id, from: session)
    case .refused(let error): refuse(line, error, to: session)
    }
  }

  /// A fetch that is refused for its URL takes its slot all the same.
  private func refuse(_ line: ParsedLine, _ error: WireError, to session: ClientSession) {
    if let slot = line.slot { pipeline.supersede(slot, of: session, by: line.receipt) }
    session.refuse(id: line.id, receipt: line.receipt, error)
  }

  private func execute(_ request: Request, id: RequestID, from session: ClientSession) {
    switch request {
    case .fetch(let fetch): pipeline.fetch(fetch, id: id, from: session)
    case .cancel(let target): cancel(target, id: id, from: session)
    case .wait(let wait): self.wait(wait, id: id, from: session)
    case .list: list(id: id, for: session)
    case .slots: slots(id: id, of: session)
    case .purge(let purge): self.purge(purge, id: id, from: session)
    case .stats: stats(id: id, for: session)
    case .query(let url, let identifier):
      query(url, identifier: identifier, id: id, for: session)
    case .entries(let entries): self.entries(entries, id: id, for: session)
    case .subscribe(let topics): subscribe(to: topics, id: id, for: session)
    case .hello: hello(id: id, for: session)
    case .ping: session.reply(id: id) { _ in }
    case .config: config(id: id, for: session)
    case .reload: reload(id: id, for: session)
    }
  }

  /// A connection is gone: what it owned and had not detached is cancelled.
  func forget(_ session: ClientSession) {
    hub.unsubscribe(session)
    pipeline.abandon(session)
  }
}
