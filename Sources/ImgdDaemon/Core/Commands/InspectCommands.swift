import ImgdCache
import ImgdPicture
import ImgdSystem
import ImgdWire

/// The commands that look and change nothing: `list`, `slots`, `query`, `entries`.
final class InspectCommands {
  private let jobs: FetchJobs
  private let pictures: PictureTiers
  private let loop: EventLoop

  init(jobs: FetchJobs, pictures: PictureTiers, loop: EventLoop) {
    self.jobs = jobs
    self.pictures = pictures
    self.loop = loop
  }

  /// All fetches under way.
  func list(id: RequestID, for session: ClientSession) {
    session.reply(id: id) { line in
      line.array("jobs") { line in
        for job in jobs.inOrder {
          line.object { describe(job, in: &$0) }
        }
      }
    }
  }

  private func describe(_ job: FetchJob, in line: inout JSONWriter) {
    line.field("receipt", job.receipt)
    line.field("url", job.url.text)
    line.field("state", job.state.rawValue)
    line.field("priority", job.priority.rawValue)
    line.field("received", job.download?.received ?? 0)
    line.field("expected", job.download?.expected)
    line.field("waiters", job.download?.waiterCount ?? 0)
    line.field("age_ms", Int((loop.now - job.startedAt).milliseconds))
    line.field("slot", job.slot)
    line.array("tags") { line in for tag in job.request.tags { line.value(tag) } }
    line.field("uid", Int(job.uid))
  }

  /// The connection's own slots.
  func slots(id: RequestID, of session: ClientSession) {
    session.reply(id: id) { line in
      line.array("slots") { line in
        for (name, slot) in session.fetches.slots.all.sorted(by: { $0.key < $1.key }) {
          line.object { line in
            line.field("slot", name)
            line.field("url", slot.url)
            line.field("state", slot.state.rawValue)
            line.field("receipt", slot.receipt)
          }
        }
      }
    }
  }

  /// The tier that has an image; does not count as a use.
  func query(
    _ text: String, identifier: String?, id: RequestID, for session: ClientSession
  ) {
    do throws(URLProblem) {
      let url = try CanonicalURL.parse(text)
      let key = CacheKey(url: url, identifier: identifier, scope: nil)
      if let image = pictures.memory.peek(key) {
        return session.reply(id: id) { line in
          line.field("tier", Tier.memory.rawValue)
          line.field("url", url.text)
          describe(image, in: &line)
        }
      }
      let ticket = session.standBy(id: id)
      pictures.disk.look(for: key) { [self] entry in
        session.resume(ticket) {
          session.reply(id: id) { line in
            line.field("tier", entry == nil ? "none" : Tier.disk.rawValue)
            line.field("url", url.text)
            if let entry { describe(entry, in: &line) }
          }
        }
      }
    } catch {
      session.refuse(id: id, receipt: nil, .of(error))
    }
  }

  /// The entries of a tier, a page at a time.
  func entries(_ entries: EntriesRequest, id: RequestID, for session: ClientSession) {
    let cursor = entries.cursor.flatMap { UInt64($0) }
    if let text = entries.cursor, cursor == nil {
      return session.refuse(id: id, receipt: nil, .badCursor(text))
    }
    switch entries.tier {
    case .memory: memoryEntries(entries, after: cursor, id: id, for: session)
    case .disk: diskEntries(entries, after: cursor, id: id, for: session)
    }
  }

  private func memoryEntries(
    _ entries: EntriesRequest, after cursor: UInt64?, id: RequestID, for session: ClientSession
  ) {
    let page = pictures.memory.page(after: cursor, limit: entries.limit, prefix: entries.prefix)
    session.reply(id: id) { line in
      line.array("entries") { line in
        for image in page.images {
          line.object { line in
            line.field("url", image.key.url.text)
            line.field("identifier", image.key.identifier)
            describe(image, in: &line)
          }
        }
      }
      line.field("cursor", page.next.map(String.init))
    }
  }

  private func diskEntries(
    _ entries: EntriesRequest, after cursor: UInt64?, id: RequestID, for session: ClientSession
  ) {
    let ticket = session.standBy(id: id)
    pictures.disk.page(after: cursor, limit: entries.limit, prefix: entries.prefix) {
      [self] page in
      session.resume(ticket) {
        session.reply(id: id) { line in
          line.array("entries") { line in
            for entry in page.entries {
              line.object { line in
                line.field("url", entry.url)
                line.field("identifier", entry.identifier)
                describe(entry, in: &line)
              }
            }
          }
          line.field("cursor", page.next.map(String.init))
        }
      }
    }
  }

  private func describe(_ entry: EntryDetails, in line: inout JSONWriter) {
    EntryFields(
      facts: entry.facts, bytes: entry.bytes, age: entry.age, freshFor: entry.freshFor,
      storedAt: entry.storedAt, tags: entry.tags
    ).write(to: &line)
    line.field("path", entry.path)
  }

  private func describe(_ image: CachedImage, in line: inout JSONWriter) {
    EntryFields(
      facts: image.facts, bytes: image.payload.count, age: image.age(at: loop.now),
      freshFor: image.freshFor(at: loop.now), storedAt: image.storedAtWall, tags: image.tags
    ).write(to: &line)
  }
}

/// The description of a stored picture, in whichever tier.
private struct EntryFields {
  let facts: ImageFacts
  let bytes: Int
  let age: Int
  let freshFor: Int
  /// Seconds since 1970.
  let storedAt: Int64
  let tags: [String]

  func write(to line: inout JSONWriter) {
    let format = facts.pictureFormat
    line.field("format", format.name)
    line.field("type", format.mediaType)
    line.field("width", Int(facts.width))
    line.field("height", Int(facts.height))
    line.field("frames", Int(facts.frames))
    line.field("bytes", bytes)
    line.field("age", age)
    line.field("fresh_for", freshFor)
    line.field("stored", Timestamp.rfc3339(storedAt))
    line.array("tags") { line in for tag in tags { line.value(tag) } }
  }
}
