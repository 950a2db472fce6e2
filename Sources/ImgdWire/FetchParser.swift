/// Reads the fields of a line as a fetch: the usual ones here, the rare ones where they are present.
enum FetchParser {
  @inline(__always)
  static func fetch(
    _ fields: RequestFields, in line: Span<UInt8>
  ) throws(WireError) -> FetchRequest {
    var fetch = FetchRequest(url: try fields.required(try fields.url(in: line), .url, of: .fetch))
    // Most fetches have nothing but a URL.
    if fields.present.isSubset(of: .plainFetch) { return fetch }
    try readOptions(of: &fetch, fields, in: line)
    return fetch
  }

  @inline(never)
  private static func readOptions(
    of fetch: inout FetchRequest, _ fields: RequestFields, in line: Span<UInt8>
  ) throws(WireError) {
    fetch.identifier = try fields.identifier(in: line)
    fetch.cache = try fields.word(.cache, default: fetch.cache, in: line)
    fetch.delivery = try fields.word(.deliver, default: fetch.delivery, in: line)
    fetch.store = try fields.word(.store, default: fetch.store, in: line)
    if !fetch.cache.keeps { fetch.store = .none }
    fetch.priority = try fields.word(.priority, default: fetch.priority, in: line)
    fetch.progress = try fields.flag(.progress, default: fetch.progress, in: line)
    fetch.events = try fields.flag(.events, default: fetch.events, in: line)
    fetch.wait = try fields.flag(.wait, default: fetch.wait, in: line)
    fetch.detach = try fields.flag(.detach, default: fetch.detach, in: line)
    fetch.http = try fields.flag(.http, default: fetch.http, in: line)
    if !fields.present.isDisjoint(with: .fetchExtras) {
      try readExtras(&fetch.extras, fields, in: line)
    }
  }

  private static func readExtras(
    _ extras: inout FetchExtras, _ fields: RequestFields, in line: Span<UInt8>
  ) throws(WireError) {
    extras.receipt = try fields.receipt(in: line)
    extras.slot = try fields.slot(in: line)
    extras.headers = try HeaderParser.headers(fields, in: line)
    extras.form = try form(fields, in: line)
    extras.timeoutMilliseconds = try fields.integer(
      .timeoutMilliseconds, WireLimits.timeoutMilliseconds, in: line)
    extras.maxBytes = try fields.integer(.maxBytes, 1...Int.max, in: line)
    extras.tags = try tags(fields, in: line)
    extras.ttl = try fields.integer(.ttl, WireLimits.seconds, in: line)
    extras.describe = try fields.flag(.describe, default: false, in: line)
    extras.share = try fields.string(.share, 1...WireLimits.share, in: line)
  }

  private static func form(
    _ fields: RequestFields, in line: Span<UInt8>
  ) throws(WireError) -> PictureForm {
    PictureForm(
      box: try BoxParser.box(fields, in: line),
      format: try fields.word(.format, default: .original, in: line),
      quality: try fields.integer(.quality, WireLimits.quality, in: line),
      frames: try fields.word(.frames, default: .all, in: line))
  }

  private static func tags(
    _ fields: RequestFields, in line: Span<UInt8>
  ) throws(WireError) -> [String] {
    guard fields.present.contains(.tags) else { return [] }
    guard let items = fields.container(.tags)?.array, items.count <= WireLimits.tags else {
      let wanted = "an array of at most \(WireLimits.tags) strings of 1 to \(WireLimits.tag) bytes"
      throw fields.wrong(.tags, .text(wanted), in: line)
    }
    var tags: [String] = []
    for item in items {
      guard let tag = item.string, 1...WireLimits.tag ~= tag.utf8.count else {
        let wanted = WantedValue.string(1...WireLimits.tag)
        throw .field(.tags, wanted.complaint(about: "tags[\(tags.count)]", sent: SentValue(item)))
      }
      guard !tag.utf8.contains(0) else {
        throw .holdsNUL(.tags, at: "tags[\(tags.count)]")
      }
      tags.append(tag)
    }
    return tags
  }
}
