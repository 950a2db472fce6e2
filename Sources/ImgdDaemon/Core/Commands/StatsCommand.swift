import Glibc
import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

/// `stats`: the counters of every part.
final class StatsCommand {
  private let parts: CoreParts
  private let loop: EventLoop
  private let startedAt: Instant
  /// What the process held before it served anybody.
  private let baseBytes: Int
  private var measured: MeasuredFigures
  private let surroundings: Surroundings

  init(_ parts: CoreParts, loop: EventLoop, in surroundings: Surroundings) {
    self.parts = parts
    self.loop = loop
    self.surroundings = surroundings
    startedAt = loop.now
    baseBytes = surroundings.processFacts().privateBytes
    measured = MeasuredFigures(surroundings.processFacts)
  }

  /// Everything that is counted, under names that do not change.
  func stats(id: RequestID, for client: ReplyPlace) {
    parts.pictures.disk.lookForDirectory()
    parts.renditions.tellAbilities(to: client, id: id) { [self] abilities, isAtOnce in
      guard isAtOnce else { return client.reply(id: id) { describe(abilities, in: &$0) } }
      client.walk { [self] in
        client.reply(id: id) { describe(abilities, in: &$0) }
        return false
      }
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
    line.object("queue") { queue(in: &$0) }
    line.object("decode") { decode(abilities, in: &$0) }
    line.object("clients") { clients(in: &$0) }
    line.object("latency_us") { line in
      line.object("hit") { $0.latency(parts.hits.latency) }
      line.object("fetch") { $0.latency(parts.jobs.latency) }
      if surroundings.fleetServer != nil { line.object("fleet") { $0.latency(parts.fleet.latency) } }
    }
    line.object("pressure") { pressure(in: &$0) }
    line.object("held") { held(in: &$0, clientBytes: figures.clientBytes) }
    line.object("process") { process(in: &$0, facts: figures.facts) }
  }

  private func memory(in line: inout JSONWriter) {
    let memory = parts.pictures.memory
    line.field("bytes", memory.usage)
    line.field("capacity", memory.limits.capacity)
    line.field("configured", parts.pictures.configuredMemory)
    line.field("preferred", memory.limits.preferred)
    line.field("entries", memory.count)
    line.field("hits", memory.counts.hits)
    line.field("misses", memory.counts.misses)
    line.field("coalesced", memory.counts.coalesced)
    line.field("insertions", memory.counts.insertions)
    line.field("replacements", memory.counts.replacements)
    line.field("evictions", memory.counts.evictions)
    line.field("evicted_bytes", memory.counts.evictedBytes)
    line.field("purges", memory.counts.purges)
    line.field("lent_bytes", memory.lentBytes)
    line.field("pixel_bytes", memory.pixelBytes)
  }

  private func disk(in line: inout JSONWriter) {
    let disk = parts.pictures.disk
    line.field("bytes", disk.allocated)
    line.field("capacity", disk.limits.capacity)
    line.field("preferred", disk.limits.preferred)
    line.field("entries", disk.count)
    line.field("hits", disk.counts.hits)
    line.field("misses", disk.counts.misses)
    line.field("insertions", disk.counts.insertions)
    line.field("replacements", disk.counts.replacements)
    line.field("evictions", disk.counts.evictions)
    line.field("evicted_bytes", disk.counts.evictedBytes)
    line.field("purges", disk.counts.purges)
    line.field("lent_bytes", disk.lentBytes)
    line.field("files", disk.count)
    line.field("write_errors", disk.counts.writeErrors)
    line.field("corrupt", disk.counts.corrupt)
    line.field("state", disk.state.rawValue)
    if let reason = disk.reason { line.field("reason", reason) }
    if disk.isLoading { line.field("loading", true) }
  }

  private func failures(in line: inout JSONWriter) {
    let answers = parts.pictures.answers
    line.field("entries", answers.count)
    line.field("bytes", answers.bytes)
    line.field("capacity", answers.capacity)
    line.field("hits", answers.hits)
  }

  private func held(in line: inout JSONWriter, clientBytes: Int) {
    let ledger = Ledger(parts, base: baseBytes, clientBytes: clientBytes)
    for account in ledger.accounts { line.field(account.name, account.bytes) }
    line.field("total", ledger.total)
  }

  private func decode(_ abilities: KnownAbilities, in line: inout JSONWriter) {
    let figures = parts.renditions.figures
    line.field("workers", figures.workers)
    line.field("max_workers", figures.mostWorkers)
    line.field("active", figures.active)
    line.field("queued", figures.queued)
    line.field("completed", figures.completed)
    line.field("failed", figures.failed)
    line.field("killed", figures.killed)
    line.abilities(abilities)
  }

  private func downloads(in line: inout JSONWriter) {
    let downloader = parts.downloader
    line.field("active", downloader.activeCount)
    line.field("slow", downloader.slowCount)
    line.field("queued", downloader.queuedCount)
    line.field("max_active", downloader.maxActive)
    line.field("peak_active", downloader.peakActive)
    line.field("started", downloader.counts.started)
    line.field("completed", downloader.counts.completed)
    line.field("failed", downloader.counts.failed)
    line.field("cancelled", downloader.counts.cancelled)
    line.field("coalesced", downloader.counts.coalesced)
    line.field("retries", downloader.counts.retries)
    line.field("revalidated", downloader.counts.revalidated)
    line.field("redirected", downloader.counts.redirected)
    line.field("resumed", downloader.counts.resumed)
    line.field("bytes_received", downloader.counts.bytesReceived)
  }

  private func queue(in line: inout JSONWriter) {
    line.field("requests", parts.jobs.shares.total.requests)
    line.field("bytes", parts.jobs.shares.total.bytes + parts.downloader.heldBytes)
  }

  private func clients(in line: inout JSONWriter) {
    let counts = parts.clients.counts
    line.field("connected", parts.clients.connected)
    line.field("accepted", counts.accepted)
    line.field("rejected", counts.rejected)
    line.field("commands", parts.commands.count)
    line.field("errors", parts.desk.errors)
    line.field("slow_closed", counts.slowClosed)
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
    line.field("pid", Int(getpid()))
    line.field("uptime_s", Int((loop.now - startedAt).milliseconds / 1000))
    line.field("rss_bytes", facts.residentBytes)
    line.field("private_bytes", facts.privateBytes)
    line.field("open_fds", facts.openDescriptors)
  }
}

extension JSONWriter {
  fileprivate mutating func latency(_ histogram: LatencyHistogram) {
    field("count", Int(histogram.count))
    microseconds("p50", histogram.percentile(0.5))
    microseconds("p90", histogram.percentile(0.9))
    microseconds("p99", histogram.percentile(0.99))
    microseconds("max", histogram.longest)
  }

  private mutating func microseconds(_ name: StaticString, _ nanoseconds: Int64) {
    field(name, millisecondsOf: UInt64(max(nanoseconds, 0)))
  }
}

/// Figures that take a pass over everything of a kind: all descriptors, all clients.
///
/// Each `stats` gets new ones, up to eight in a tenth of a second; any others in that time get the last of them. A
/// client that asks a few times sees the effect of what it did in between, and a flood of `stats` costs no more than
/// that.
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

/// What the daemon holds in memory, in bytes, by holder: each is asked for its own count, so that nothing is
/// counted twice. Buffers of libraries and the cost of small objects are estimates.
struct Ledger {
  /// A connection with its objects, without what is in its buffers.
  private static let connection = 2_048
  /// A connection to an origin with its buffers in libcurl and, for most of them, TLS.
  private static let transfer = 48 * 1_024

  let accounts: [(name: StaticString, bytes: Int)]

  /// `base` is what the process held before it served anybody.
  init(_ parts: CoreParts, base: Int, clientBytes: Int) {
    let transfers = parts.downloader.holdings
    accounts = [
      ("base", base), ("pictures", parts.pictures.memory.usage + parts.pictures.purges.bytes),
      ("failures", parts.pictures.answers.bytes), ("variants", parts.pictures.variants.heldBytes),
      ("requests", parts.jobs.shares.total.bytes + parts.downloader.heldBytes), ("outcomes", parts.jobs.keptBytes),
      ("clients", clientBytes + parts.clients.connected * Self.connection),
      (
        "transfers",
        transfers.bodies + transfers.partials + transfers.idleHandles + transfers.connections * Self.transfer
      ), ("decoding", parts.renditions.heldBytes), ("fleet", parts.fleetPurges.heldBytes + parts.fleet.heldBytes),
      ("disk", parts.pictures.disk.held.total),
    ]
  }

  var total: Int { accounts.reduce(0) { $0 + $1.bytes } }
}
