import ImgdCache
import ImgdProgram
import ImgdSystem
import ImgdWire

/// The commands about the daemon itself: `hello`, `config`, `reload`, `subscribe`.
final class ServiceCommands {
  /// The most fetches that a snapshot shows; `list` has the others.
  private static let mostJobs = 100

  private let parts: CoreParts
  private let instance: ReceiptID
  private var prepared: (settings: Configuration, json: [UInt8])?
  private let readAgain: (_ answered: @escaping (ReloadAnswer) -> Void) -> Void

  init(_ parts: CoreParts, reload: @escaping (_ answered: @escaping (ReloadAnswer) -> Void) -> Void) {
    self.parts = parts
    readAgain = reload
    var receipts = ReceiptSource()
    instance = receipts.next()
  }

  /// The daemon's version, features and limits.
  func hello(id: RequestID, for client: ReplyPlace) {
    parts.renditions.tellAbilities(to: client, id: id) { [self] abilities, _ in hello(abilities, id: id, for: client) }
  }

  private func hello(_ abilities: KnownAbilities, id: RequestID, for client: ReplyPlace) {
    client.reply(id: id) { line in
      line.field("protocol", 1)
      line.field("server", "imgd")
      line.field("version", Release.version)
      line.array("features") { line in
        for name in Features.all { line.value(name) }
        if case .success = abilities { for name in Features.ofDecoder { line.value(name) } }
      }
      line.object("decode") { $0.abilities(abilities) }
      line.object("limits") { $0.limits(client.limits, of: parts.requests.settings) }
      line.field("instance", instance)
    }
  }

  /// The configuration in force.
  func config(id: RequestID, for client: ReplyPlace) {
    client.walk { [self] in
      client.reply(id: id) { line in
        line.name("config")
        line.encoded(configuration())
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
      for section in Configuration.sections {
        line.name(section.rawValue)
        line.object { line in
          for key in Configuration.keys(of: section) {
            line.name(key.name)
            line.value(key.text(settings))
          }
        }
      }
    }
    prepared = (settings, line.bytes)
    return line.bytes
  }

  /// Reads the configuration again; the answer says what has changed.
  func reload(id: RequestID, for client: ReplyPlace) {
    guard !parts.jobs.isDraining else { return client.refuse(id: id, receipt: nil, .shuttingDown) }
    guard client.hasRoomToStandBy else {
      return client.refuse(id: id, receipt: nil, .tooManyReceipts(limit: client.limits.receipts))
    }
    let ticket = client.standBy(id: id)
    readAgain { answer in client.resume(ticket) { client.reply(answer, id: id) } }
  }

  func subscribe(to topics: Topics, id: RequestID, for client: ReplyPlace) {
    parts.hub.subscribe(client, to: topics)
    client.reply(id: id) { line in
      line.array("events") { line in for name in topics.names { line.value(name) } }
      line.object("snapshot") { snapshot(in: &$0) }
    }
  }

  private func snapshot(in line: inout JSONWriter) {
    line.object("downloads") { line in
      line.field("active", parts.downloader.activeCount)
      line.field("queued", parts.downloader.queuedCount)
    }
    line.object("memory") { line in
      line.field("entries", parts.pictures.memory.count)
      line.field("bytes", parts.pictures.memory.usage)
    }
    let part = parts.jobs.part(after: 0, most: Self.mostJobs)
    line.array("jobs") { line in
      for job in part.members {
        line.object { line in
          line.field("receipt", job.receipt)
          line.field("url", job.url.text)
          line.field("state", job.state.rawValue)
        }
      }
    }
    let omitted = parts.jobs.count - part.members.count
    if omitted > 0 { line.field("jobs_omitted", omitted) }
  }
}

/// The result of a reload of the configuration.
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

/// The features that a client may rely on, by name.
enum Features {
  static let all = ["inline", "fd", "slots", "subscribe", "wait", "detach", "tags", "ttl", "progress"]
  /// Those that need a decoder.
  static let ofDecoder = ["pixels", "resize", "format", "describe"]
}

extension ReplyPlace {
  fileprivate func reply(_ answer: ReloadAnswer, id: RequestID) {
    switch answer {
    case .refused(let problems): refuse(id: id, receipt: nil, .badConfiguration(problems))
    case .stopping: refuse(id: id, receipt: nil, .shuttingDown)
    case .changed(let keys, let waiting): reply(id: id, changed: keys, waiting: waiting)
    }
  }

  private func reply(id: RequestID, changed: [String], waiting: [String]) {
    reply(id: id) { line in
      line.array("changed") { line in for key in changed { line.value(key) } }
      if !waiting.isEmpty { line.array("needs_restart") { line in for key in waiting { line.value(key) } } }
    }
  }
}

extension JSONWriter {
  fileprivate mutating func limits(_ limits: WireLimits, of settings: Configuration) {
    field("line", limits.line)
    field("url", WireLimits.url)
    field("inline", settings.control.maxInline)
    field("identifier", WireLimits.identifier)
    field("slot", WireLimits.slot)
    field("tags", WireLimits.tags)
    field("tag", WireLimits.tag)
    field("clients", limits.connections)
    field("receipts_per_connection", limits.receipts)
    field("queued", limits.queued)
    field("request_bytes", limits.requestBytes)
    field("unsent_bytes", limits.unsentOutput)
    field("unsent_descriptors", limits.unsentDescriptors)
    field("max_bytes", settings.downloads.maxBytes)
    field("max_active", settings.downloads.maxActive)
  }
}
