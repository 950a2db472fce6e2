/// The fields understood as a fetch: the usual ones here, the rare ones where they are present.
extension RequestFields {
  @inline(__always)
  func fetch(in line: Span<UInt8>) throws(WireError) -> FetchRequest {
    var fetch = FetchRequest(url: try required(try url(in: line), .url, of: .fetch))
    // Nothing but a URL is the usual case.
    if present.isSubset(of: .plainFetch) { return fetch }
    try readOptions(of: &fetch, in: line)
    return fetch
  }

  @inline(never)
  private func readOptions(
    of fetch: inout FetchRequest, in line: Span<UInt8>
  ) throws(WireError) {
    fetch.identifier = try identifier(in: line)
    fetch.cache = try word(.cache, default: fetch.cache, in: line)
    fetch.delivery = try word(.deliver, default: fetch.delivery, in: line)
    fetch.store = try word(.store, default: fetch.store, in: line)
    if fetch.cache == .noStore { fetch.store = .none }
    fetch.priority = try word(.priority, default: fetch.priority, in: line)
    fetch.format = try word(.format, default: fetch.format, in: line)
    fetch.progress = try flag(.progress, default: fetch.progress, in: line)
    fetch.events = try flag(.events, default: fetch.events, in: line)
    fetch.wait = try flag(.wait, default: fetch.wait, in: line)
    fetch.detach = try flag(.detach, default: fetch.detach, in: line)
    fetch.http = try flag(.http, default: fetch.http, in: line)
    if !present.isDisjoint(with: .fetchExtras) { fetch.extras = try extras(in: line) }
  }

  private func extras(in line: Span<UInt8>) throws(WireError) -> FetchExtras {
    FetchExtras(
      receipt: try receipt(in: line),
      slot: try slot(in: line),
      headers: try headers(in: line),
      resize: try resize(in: line),
      timeoutMilliseconds: try integer(
        .timeoutMilliseconds, WireLimits.timeoutMilliseconds, in: line),
      maxBytes: try integer(.maxBytes, 1...Int.max, in: line),
      tags: try tags(in: line),
      ttl: try integer(.ttl, WireLimits.seconds, in: line))
  }

  private func tags(in line: Span<UInt8>) throws(WireError) -> [String] {
    guard present.contains(.tags) else { return [] }
    let wanted = WantedValue.text(
      "an array of at most \(WireLimits.tags) strings of 1 to \(WireLimits.tag) bytes")
    guard let items = container(.tags)?.array, items.count <= WireLimits.tags else {
      throw wrong(.tags, wanted, in: line)
    }
    let tags = items.compactMap(\.string).filter { 1...WireLimits.tag ~= $0.utf8.count }
    guard tags.count == items.count else { throw wrong(.tags, wanted, in: line) }
    return tags
  }
}
