import ImgdCache
import ImgdSystem
import ImgdWire

// A plain request for what only the disk has.

extension FetchPipeline {
  /// Answers from what the index knows, and has the picture brought into memory behind the answer.
  ///
  /// Who asks again before it is there waits for it: the first is told `disk`, the second `memory`.
  func answerPlainDiskHit(
    _ request: FetchRequest, id: RequestID, to session: ClientSession
  ) -> Bool {
    guard request.isPlain, !isDraining, !request.http,
      request.delivery == .path || request.delivery == .none,
      !memory.holds(request.url, identifier: request.identifier),
      CanonicalURL.isCanonical(request.url), let url = try? CanonicalURL.parse(request.url)
    else { return false }
    let key = CacheKey(url: url, identifier: request.identifier)
    guard let hit = disk.readyHit(key, lends: request.delivery == .path) else { return false }
    let receipt = receipts.next()
    let elapsed = Instant.current.nanoseconds - loop.now.nanoseconds
    memory.noteMiss()
    hitLatency.record(elapsed)
    session.write { line in
      ReplyEncoder.begin(id: id, ok: true, into: &line)
      line.field("receipt", receipt)
      line.field("url", request.url)
      line.field("source", DeliveredImage.Source.disk.rawValue)
      line.field("coalesced", false)
      line.facts(hit.facts)
      line.field("bytes", hit.bytes)
      line.field("age", hit.age)
      line.field("fresh_for", hit.freshFor)
      line.field("elapsed_ms", millisecondsOf: UInt64(max(elapsed / 1_000, 0)))
      if request.delivery == .path { line.field("path", hit.path) }
      ReplyEncoder.end(into: &line)
    }
    hub.job(receipt, url: request.url, .done)
    promote(request, key, bytes: hit.bytes)
    return true
  }

  private func promote(_ request: FetchRequest, _ key: CacheKey, bytes: Int) {
    guard request.keepsInMemory, bytes <= memory.limits.maxEntry, bytes <= memory.limits.preferred
    else { return }
    let purges = memoryPurges
    _ = disk.fetch(key, countsAsUse: false) { [unowned self] image in
      guard let image, memory.peek(key) == nil, purges == memoryPurges else { return }
      storeInMemory(image)
    }
  }
}
