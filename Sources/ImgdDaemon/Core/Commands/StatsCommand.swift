import Glibc
import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// `stats`: the counters of every part.
final class StatsCommand {
  /// The bytes of a connection to an origin with its buffers in libcurl and, for most of them, TLS.
  private static let transfer = 48 * 1_024

  private let parts: CoreParts
  private let origins: OriginsCommand
  private let loop: EventLoop
  private let startedAt: Instant
  /// What the process held before it served anybody.
  private let baseBytes: Int
  private var measured: MeasuredFigures
  private let surroundings: Surroundings

  init(_ parts: CoreParts, origins: OriginsCommand, loop: EventLoop, in surroundings: Surroundings) {
    self.parts = parts
    self.origins = origins
    self.loop = loop
    self.surroundings = surroundings
    startedAt = loop.now
    baseBytes = surroundings.processFacts().privateBytes
    measured = MeasuredFigures(surroundings.processFacts)
  }

  /// Everything that is counted, under names that do not change.
  func stats(id: RequestID, for client: ReplyPlace) {
    guard parts.access.seesEverything(client.peer) else {
      return client.reply(id: id) { describe(whatIsOf: client.peer.uid, in: &$0) }
    }
    parts.pictures.disk.lookForDirectory()
    parts.renditions.tellAbilities(to: client, id: id) { [self] abilities, isAtOnce in
      guard isAtOnce else { return client.reply(id: id) { describe(abilities, in: &$0) } }
      client.walk { [self] in
        client.reply(id: id) { describe(abilities, in: &$0) }
        return false
      }
    }
  }

  /// What a user has who does not see the rest: no number tells of anybody else.
  private func describe(whatIsOf uid: UInt32, in line: inout JSONWriter) {
    let (memory, disk) = (parts.pictures.memory.holding(of: uid), parts.pictures.disk.holding(of: uid))
    line.object("memory") { $0.fields(["bytes": memory.bytes, "entries": memory.entries]) }
    line.object("disk") { $0.fields(["bytes": disk.bytes, "entries": disk.entries]) }
    let held = parts.jobs.shares.holding(of: uid)
    line.object("queue") { $0.fields(["requests": held.requests, "bytes": held.bytes]) }
    line.object("process") { line in
      line.field("version", Release.version)
      line.field("uptime_s", Int((loop.now - startedAt).milliseconds / 1000))
    }
  }

  private func describe(_ abilities: KnownAbilities, in line: inout JSONWriter) {
    let figures = measured.figures(at: loop.now, of: parts.clients)
    line.object("memory") { memory(in: &$0) }
    line.object("disk") { disk(in: &$0) }
    line.object("failures") { failures(in: &$0) }
    if let server = surroundings.fleetServer {
      line.object("fleet") { $0.fleet(parts.fleet, parts.fleetPurges, server: server) }
    }
    line.object("downloads") { downloads(in: &$0) }
    line.object("network") { network(in: &$0) }
    line.object("queue") { queue(in: &$0) }
    line.object("decode") { decode(abilities, in: &$0) }
    line.object("clients") { clients(in: &$0) }
    line.object("latency_us") { line in
      line.object("hit") { $0.latency(parts.hits.latency) }
      line.object("fetch") { $0.latency(parts.jobs.latency) }
      line.object("download_wait") { $0.latency(parts.downloader.waits) }
      line.object("download") { $0.latency(parts.downloader.latency) }
      line.object("decode_wait") { $0.latency(parts.renditions.figures.latencies.waits) }
      line.object("decode") { $0.latency(parts.renditions.figures.latencies.orders) }
      if surroundings.fleetServer != nil { line.object("fleet") { $0.latency(parts.fleet.latency) } }
    }
    line.object("pressure") { pressure(in: &$0) }
    line.object("held") { held(in: &$0, clientBytes: figures.clientBytes) }
    line.object("process") { process(in: &$0, facts: figures.facts) }
    origins.summarize(in: &line)
  }

  private func memory(in line: inout JSONWriter) {
    let memory = parts.pictures.memory
    let counts = memory.counts
    line.fields([
      "bytes": memory.usage, "capacity": memory.limits.capacity, "configured": parts.pictures.configuredMemory,
      "preferred": memory.limits.preferred, "entries": memory.count, "hits": counts.hits, "misses": counts.misses,
      "coalesced": counts.coalesced, "insertions": counts.insertions, "replacements": counts.replacements,
      "evictions": counts.evictions, "evicted_bytes": counts.evictedBytes, "purges": counts.purges,
      "lent_bytes": memory.lentBytes, "pixel_bytes": memory.pixelBytes,
    ])
  }

  private func disk(in line: inout JSONWriter) {
    let disk = parts.pictures.disk
    let counts = disk.counts
    line.fields([
      "bytes": disk.allocated, "capacity": disk.limits.capacity, "preferred": disk.limits.preferred,
      "entries": disk.count, "hits": counts.hits, "misses": counts.misses, "insertions": counts.insertions,
      "replacements": counts.replacements, "evictions": counts.evictions, "evicted_bytes": counts.evictedBytes,
      "purges": counts.purges, "lent_bytes": disk.lentBytes, "files": disk.count - disk.recordCount,
      "records": disk.recordCount,
      "write_errors": counts.writeErrors, "corrupt": counts.corrupt,
    ])
    line.field("state", disk.state.rawValue)
    if let reason = disk.reason { line.field("reason", reason) }
    if let note = disk.note { line.field("note", note) }
    if disk.isLoading { line.field("loading", true) }
  }

  private func failures(in line: inout JSONWriter) {
    let answers = parts.pictures.answers
    line.fields([
      "entries": answers.count, "bytes": answers.bytes, "capacity": answers.capacity, "hits": answers.hits,
    ])
  }

  /// What the daemon holds in memory, in bytes, by holder: each is asked for its own count, so that nothing is counted
  /// twice. Buffers of libraries and the cost of small objects are estimates.
  private func held(in line: inout JSONWriter, clientBytes: Int) {
    let (pictures, transfers) = (parts.pictures, parts.downloader.holdings)
    let accounts: KeyValuePairs<StaticString, Int> = [
      "base": baseBytes, "pictures": pictures.memory.usage + pictures.purges.bytes, "failures": pictures.answers.bytes,
      "variants": pictures.variants.heldBytes,
      "requests": parts.jobs.shares.total.bytes + parts.downloader.heldBytes,
      "outcomes": parts.jobs.keptBytes + parts.jobs.failed.heldBytes,
      "clients": clientBytes + parts.clients.connected * ClientSession.ownBytes,
      "transfers": transfers.bodies + transfers.partials + transfers.idleHandles + transfers.sessions
        + transfers.connections * Self.transfer, "decoding": parts.renditions.heldBytes,
      "fleet": parts.fleetPurges.heldBytes + parts.fleet.heldBytes, "disk": pictures.disk.held.total,
      "unused": BodySlabs.shared.unused,
    ]
    line.fields(accounts)
    line.field("total", accounts.reduce(0) { $0 + $1.value })
  }

  private func decode(_ abilities: KnownAbilities, in line: inout JSONWriter) {
    let figures = parts.renditions.figures
    line.fields([
      "workers": figures.workers, "max_workers": figures.mostWorkers, "active": figures.active,
      "queued": figures.queued, "completed": figures.completed, "failed": figures.failed, "killed": figures.killed,
    ])
    line.abilities(abilities)
  }

  private func downloads(in line: inout JSONWriter) {
    let downloader = parts.downloader
    let (places, counts, transfers) = (downloader.places, downloader.counts, downloader.holdings)
    line.fields([
      "active": places.active, "slow": places.slow, "queued": downloader.queuedCount,
      "max_active": downloader.maxActive, "peak_active": places.peak, "started": counts.started,
      "completed": counts.completed, "failed": counts.failed, "cancelled": counts.cancelled,
      "coalesced": counts.coalesced, "retries": counts.retries, "revalidated": counts.revalidated,
      "redirected": counts.redirected, "resumed": counts.resumed, "bytes_received": counts.bytesReceived,
      "connections": transfers.connections, "connections_opened": transfers.opened,
      "connections_reused": transfers.reused, "tls_handshakes": transfers.handshakes,
      "tls_resumed": transfers.resumed,
    ])
  }

  private func network(in line: inout JSONWriter) {
    let reach = parts.downloader.reach
    line.field("offline", reach.isOffline)
    line.fields(["outages": reach.outages, "interrupted": parts.downloader.counts.interrupted])
  }

  private func queue(in line: inout JSONWriter) {
    line.field("requests", parts.jobs.shares.total.requests)
    line.field("bytes", parts.jobs.shares.total.bytes + parts.downloader.heldBytes)
  }

  private func clients(in line: inout JSONWriter) {
    let counts = parts.clients.counts
    line.fields([
      "connected": parts.clients.connected, "accepted": counts.accepted, "rejected": counts.rejected,
      "commands": parts.commands.count, "errors": parts.desk.errors, "slow_closed": counts.slowClosed,
    ])
  }

  private func pressure(in line: inout JSONWriter) {
    let source = surroundings.pressureSource()
    line.field("source", source.name)
    if let note = source.note { line.field("note", note) }
    line.field("events", parts.hub.pressure.events)
    line.field("last", parts.hub.pressure.last.map(Timestamp.rfc3339))
    line.field("removed_bytes", parts.hub.pressure.removedBytes)
  }

  private func process(in line: inout JSONWriter, facts: ProcessFacts) {
    line.field("version", Release.version)
    line.fields([
      "pid": Int(getpid()), "uptime_s": Int((loop.now - startedAt).milliseconds / 1000),
      "rss_bytes": facts.residentBytes, "private_bytes": facts.privateBytes, "open_fds": facts.openDescriptors,
    ])
  }
}

extension JSONWriter {
  fileprivate mutating func latency(_ histogram: LatencyHistogram) {
    field("count", Int(histogram.count))
    microseconds("p50", histogram.percentile(0.5))
    microseconds("p90", histogram.percentile(0.9))
    microseconds("p99", histogram.percentile(0.99))
    microseconds("max", histogram.longest)
    microseconds("sum", histogram.sum)
    array("buckets") { line in for count in histogram.withinBounds { line.value(Int(count)) } }
  }

  private mutating func microseconds(_ name: StaticString, _ nanoseconds: Int64) {
    field(name, millisecondsOf: UInt64(max(nanoseconds, 0)))
  }
}

/// Figures that take a pass over everything of a kind: all descriptors, all clients.
///
/// Each `stats` gets new ones, up to eight in a tenth of a second; any others get the last of them. So a client sees
/// the effect of what it did in between, and a flood of `stats` costs no more than that.
struct MeasuredFigures {
  struct Figures {
    let facts: ProcessFacts
    let clientBytes: Int
  }

  static let limit = 8
  static let period = Duration.milliseconds(100)

  private let facts: () -> ProcessFacts
  private var last: Figures?
  private var periodBegan: Instant?
  private var takenInPeriod = 0

  init(_ facts: @escaping () -> ProcessFacts) { self.facts = facts }

  mutating func figures(at now: Instant, of clients: Clients) -> Figures {
    if periodBegan.map({ now - $0 >= Self.period }) ?? true {
      periodBegan = now
      takenInPeriod = 0
    }
    if takenInPeriod >= Self.limit, let last { return last }
    takenInPeriod += 1
    let new = Figures(facts: facts(), clientBytes: clients.heldBytes)
    last = new
    return new
  }
}
