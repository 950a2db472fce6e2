import ImgdCache
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdWire

/// The commands that look and change nothing: `list`, `slots`, `query`, `entries`.
final class InspectCommands {
  /// How many elements of a list are described in one step.
  private static let mostAtOnce = 16
  /// How many commands of a client may wait while a page of the disk is made for it.
  private static let mostPages = 2

  private let jobs: FetchJobs
  private let downloader: Downloader
  private let pictures: PictureTiers
  private let renditions: Renditions
  private let origins: OriginRules
  private let access: Access
  private let own: OwnPictures
  private let loop: EventLoop

  init(_ parts: CoreParts, loop: EventLoop) {
    jobs = parts.jobs
    downloader = parts.downloader
    pictures = parts.pictures
    renditions = parts.renditions
    origins = parts.origins
    access = parts.access
    own = parts.own
    self.loop = loop
  }

  /// The fetches under way, the oldest first.
  func list(_ page: PageRequest, id: RequestID, for client: ReplyPlace) {
    guard var position = client.start(of: page, for: .list, id: id) else { return }
    let answer = ListAnswer("jobs", of: page, id: id, to: client)
    let seesAll = access.seesEverything(client.peer)
    client.walk { [self] in
      let part = jobs.part(after: position, most: min(answer.room, Self.mostAtOnce))
      for job in part.members where access.sees(workOf: job.uid, by: client.peer) {
        answer.add { describe(job, waiters: seesAll ? job.download?.waiterCount : 1, in: &$0) }
      }
      guard let next = part.end else {
        answer.finish(cursor: nil)
        return false
      }
      position = next
      if answer.room == 0 { answer.finish(cursor: String(next)) }
      return answer.room > 0
    }
  }

  private func describe(_ job: FetchJob, waiters: Int?, in line: inout JSONWriter) {
    line.field("receipt", job.receipt)
    line.field("url", job.url.text)
    line.field("state", job.state.rawValue)
    line.field("priority", job.request.priority.rawValue)
    line.field("received", job.download?.received ?? 0)
    line.field("expected", job.download?.expected)
    line.field("waiters", job.download == nil ? 0 : waiters)
    line.field("age_ms", Int((loop.now - job.startedAt).milliseconds))
    if let pause = job.download.flatMap(downloader.pause(of:)) { line.field("retry_after_ms", Int(pause.milliseconds)) }
    if job.state == .queued, let download = job.download {
      switch downloader.phase(of: download) {
      case .offline:
        line.field("phase", WaitingPhase.offline.name)
        line.hold(.offline)
      case .queue(_, let held?): line.hold(held)
      default: break
      }
    }
    line.field("slot", job.slot)
    line.array("tags") { line in for tag in job.request.tags { line.value(tag) } }
    line.field("uid", Int(job.uid))
  }

  func slots(_ page: PageRequest, id: RequestID, of client: ReplyPlace) {
    client.walk { [self] in
      let answer = ListAnswer("slots", of: page, id: id, to: client)
      let slots = (jobs.fetches(of: client)?.slots.all ?? [:]).filter { page.cursor ?? "" < $0.key }
      var last: String?
      for (name, slot) in slots.sorted(by: { $0.key < $1.key }) {
        guard answer.room > 0 else {
          answer.finish(cursor: last)
          return false
        }
        answer.add { describe(slot, named: name, in: &$0) }
        last = name
      }
      answer.finish(cursor: nil)
      return false
    }
  }

  private func describe(_ slot: Slots.Slot, named name: String, in line: inout JSONWriter) {
    line.field("slot", name)
    line.field("url", slot.url)
    line.field("state", slot.state.rawValue)
    line.field("receipt", slot.receipt)
  }

  /// Answers which tier has an image; this does not count as a use.
  func query(_ query: QueryRequest, id: RequestID, for client: ReplyPlace) {
    do throws(URLProblem) {
      let (url, uid) = (origins.key(of: try CanonicalURL.parse(query.url)), client.peer.uid)
      let base =
        (query.identifier == nil ? freshPut(under: url, by: uid) : nil)
        ?? CacheKey(
          url: url, identifier: query.identifier,
          variant: KeyVariant(identifier: query.identifier, uid: uid, isOwn: own.isForAll))
      let ticket = client.standBy(id: id)
      let seesAll = access.seesEverything(client.peer)
      pictures.variants.list(base) { [self] variants in
        let answer = { (tier: String, placeholder: Placeholder?, write: (inout JSONWriter) -> Void) in
          client.resume(ticket) {
            client.reply(id: id) { line in
              line.field("tier", tier)
              line.field("url", base.url.text)
              write(&line)
              if let placeholder { line.placeholder(placeholder) }
              // They have values that others have sent.
              if seesAll { line.variants(variants) }
            }
          }
        }
        look(for: variants.first { $0.variant.fitsPlain }?.key ?? base, query, for: client, answer)
      }
    } catch { client.refuse(id: id, receipt: nil, .of(error)) }
  }

  /// The key of what a user has put under a URL for himself, if a fetch shows that.
  private func freshPut(under url: CanonicalURL, by uid: UInt32) -> CacheKey? {
    guard let key = own.key(of: url, for: uid) else { return nil }
    if let image = pictures.memory.peek(key) { return image.isFresh(at: loop.now) ? key : nil }
    return pictures.disk.glance(at: key, countsAsUse: false) == nil ? nil : key
  }

  private func look(
    for key: CacheKey, _ query: QueryRequest, for client: ReplyPlace,
    _ answer: @escaping (_ tier: String, Placeholder?, _ write: (inout JSONWriter) -> Void) -> Void
  ) {
    let viewer = access.viewer(client.peer)
    let sees = { (claims: EntryClaims) in viewer.map(claims.include) ?? true }
    let held = pictures.memory.peek(key)
    if let held, !sees(held.claims) { return answer("none", nil) { _ in } }
    if let image = held, image.hasBody {
      return find(placeholderOf: image, query, for: client) { [self] placeholder in
        answer(Tier.memory.rawValue, placeholder) { describe(image, to: viewer, in: &$0) }
      }
    }
    pictures.disk.look(for: key) { [self] entry in
      guard let entry, sees(entry.claims) else {
        guard let held else { return answer("none", nil) { _ in } }
        let packed = query.describe ? PictureDescription(packed: held.description) : nil
        return answer(Tier.memory.rawValue, packed.map { .description($0) }) { describe(held, to: viewer, in: &$0) }
      }
      find(placeholderOf: key, query, for: client) { [self] placeholder in
        answer(Tier.disk.rawValue, placeholder) { describe(entry, to: viewer, in: &$0) }
      }
    }
  }

  func entries(_ entries: EntriesRequest, id: RequestID, for client: ReplyPlace) {
    guard let start = client.start(of: entries.page, for: .entries, id: id) else { return }
    do throws(URLProblem) {
      let url = try entries.url.map { (text) throws(URLProblem) in origins.key(of: try CanonicalURL.parse(text)) }
      let wanted = Wanted(url: url, prefix: entries.prefix, part: entries.part.map { URLPart($0) })
      let answer = ListAnswer("entries", of: entries.page, id: id, to: client)
      switch entries.tier {
      case .memory: memoryEntries(wanted, after: start, into: answer, for: client)
      case .disk: diskEntries(wanted, after: start, into: answer, id: id, for: client)
      }
    } catch { client.refuse(id: id, receipt: nil, .of(error)) }
  }

  /// What the URLs of the entries have to be like.
  private struct Wanted {
    let url: CanonicalURL?
    let prefix: String?
    let part: URLPart?
  }

  /// The placeholder of a picture, which is made where there is none yet; nil when none is wanted.
  private func find(
    placeholderOf image: CachedImage, _ query: QueryRequest, for client: ReplyPlace,
    then: @escaping (Placeholder?) -> Void
  ) {
    guard query.describe else { return then(nil) }
    renditions.describe(
      Renditions.Order(
        rendition: Rendition(.description), original: image,
        claim: DecodeClaim(claimant: client.claimant, priority: .normal), tiers: [], countsAsUse: false)
    ) { then($0) }
  }

  /// The placeholder of a picture that only the disk has, which is read for that.
  private func find(
    placeholderOf key: CacheKey, _ query: QueryRequest, for client: ReplyPlace, then: @escaping (Placeholder?) -> Void
  ) {
    guard query.describe else { return then(nil) }
    let describe = { [self] (image: CachedImage?) in
      guard let image, image.hasBody || !image.description.isEmpty else { return then(nil) }
      find(placeholderOf: image, query, for: client, then: then)
    }
    pictures.disk.fetch(key, countsAsUse: false, then: describe).passOn(to: describe)
  }

  private func memoryEntries(
    _ wanted: Wanted, after start: UInt64, into answer: ListAnswer, for client: ReplyPlace
  ) {
    var position: UInt64? = start
    let viewer = access.viewer(client.peer)
    client.walk { [self] in
      let page = pictures.memory.page(
        after: position, limit: min(answer.room, Self.mostAtOnce), prefix: wanted.prefix, containing: wanted.part,
        url: wanted.url)
      for image in page.images where viewer.map(image.claims.include) ?? true {
        answer.add { line in
          line.field("url", image.url.text)
          line.field("identifier", image.identifier)
          describe(image, to: viewer, in: &line)
        }
      }
      position = page.next
      guard page.next == nil || answer.room == 0 else { return true }
      answer.finish(cursor: page.next.map(String.init))
      return false
    }
  }

  /// Once a client has a few pages in the making, its next request waits, so that these do not become thousands.
  private func diskEntries(
    _ wanted: Wanted, after start: UInt64, into answer: ListAnswer, id: RequestID, for client: ReplyPlace
  ) {
    let ticket = client.standBy(id: id)
    let isLast = client.standingCount > Self.mostPages
    if isLast { client.hold() }
    read(wanted, after: start, for: client, into: answer) { next in
      client.resume(ticket) { answer.finish(cursor: next.map(String.init)) }
      if isLast { client.release() }
    }
  }

  /// Reads parts of a page until it is full.
  private func read(
    _ wanted: Wanted, after cursor: UInt64?, for client: ReplyPlace, into answer: ListAnswer,
    then: @escaping (_ next: UInt64?) -> Void
  ) {
    let viewer = access.viewer(client.peer)
    let limit = min(answer.room, Self.mostAtOnce)
    var names = PurgeFilter()
    (names.url, names.prefix) = (wanted.url, wanted.prefix)
    pictures.disk.page(after: cursor, limit: limit, of: names, containing: wanted.part) { [self] page in
      for entry in page.entries where viewer.map(entry.claims.include) ?? true {
        answer.add { line in
          line.field("url", entry.url)
          line.field("identifier", entry.identifier)
          describe(entry, to: viewer, in: &line)
        }
      }
      guard page.next != nil, answer.room > 0 else { return then(page.next) }
      read(wanted, after: page.next, for: client, into: answer, then: then)
    }
  }

  private func describe(_ entry: EntryDetails, to viewer: UInt32?, in line: inout JSONWriter) {
    line.entry(
      entry.facts, bytes: entry.bytes, age: entry.age, freshFor: entry.freshFor, storedAt: entry.storedAt,
      tags: entry.claims.tags, shownTo: viewer)
    if entry.hasBody { line.field("path", entry.path) } else { line.field("body", false) }
  }

  private func describe(_ image: CachedImage, to viewer: UInt32?, in line: inout JSONWriter) {
    let age = pictures.age(of: image, at: loop.now)
    line.entry(
      image.facts, bytes: image.byteCount, age: age.age, freshFor: age.freshFor, storedAt: image.storedAtWall,
      tags: image.tags, shownTo: viewer)
    if !image.hasBody { line.field("body", false) }
  }
}

extension JSONWriter {
  /// Describes a stored picture, in whichever tier, to a user or, with nil, to one who sees everything; `storedAt` is in
  /// seconds since 1970.
  fileprivate mutating func entry(
    _ facts: ImageFacts, bytes: Int, age: Int, freshFor: Int, storedAt: Int64, tags: [String], shownTo viewer: UInt32?
  ) {
    let format = facts.pictureFormat
    field("format", format.name)
    field("type", format.mediaType)
    field("width", Int(facts.width))
    field("height", Int(facts.height))
    field("frames", Int(facts.frames))
    field("bytes", bytes)
    field("age", age)
    field("fresh_for", freshFor)
    field("stored", Timestamp.rfc3339(storedAt))
    let names = EntryTags.names(tags, shownTo: viewer)
    array("tags") { line in for name in names ?? [] { line.value(name) } }
    let groups = EntryTags.groups(tags)
    if !groups.isEmpty { array("groups") { line in for group in groups { line.value(group) } } }
    if names == nil { field("any_tag", true) }
  }

  /// Describes the answers to one name, if several are known.
  fileprivate mutating func variants(_ variants: [Variants.Held]) {
    guard !variants.isEmpty else { return }
    array("variants") { line in
      for held in variants {
        line.object { line in
          line.object("vary") { $0.vary(held.variant.vary) }
          line.field("stored", Timestamp.rfc3339(held.variant.storedAt))
          line.array("tiers") { line in for tier in held.tiers { line.value(tier.rawValue) } }
        }
      }
    }
  }

  /// The names, each with the value that was sent, or null.
  ///
  /// An origin may list thousands of headers, and a client send them with long values: so much of one answer is shown.
  private mutating func vary(_ vary: VaryOutcome) {
    var pairs = vary.pairs[...]
    var bytesLeft = 8 << 10
    for name in vary.names {
      let value = pairs.first.flatMap { $0.name == name ? pairs.popFirst()?.value : nil }
      bytesLeft -= name.utf8.count + (value?.utf8.count ?? 0)
      guard bytesLeft >= 0 else { return }
      self.name(name)
      if let value { self.value(value) } else { null() }
    }
  }
}
