import ImgdConnection
import ImgdSystem

/// The request lines that imgctl sends.
enum Requests {
  /// A command without fields.
  static func plain(_ command: String) -> [UInt8] {
    RequestLine(command).bytes
  }

  /// A part of a list, which begins after the cursor of the part before.
  static func page(of command: String, after cursor: String?) -> [UInt8] {
    var line = RequestLine(command)
    line.add("cursor", cursor)
    return line.bytes
  }

  static func fetch(
    _ url: String, id: Int, _ arguments: FetchArguments, withBytes: Bool, withProgress: Bool
  ) -> [UInt8] {
    var line = RequestLine("fetch")
    line.add("id", id)
    line.add("url", url)
    if withBytes { line.add("deliver", "fd") }
    if withProgress { line.add("progress", true) }
    line.add("cache", arguments.cache)
    line.add("identifier", arguments.identifier)
    line.add("priority", arguments.priority)
    line.add("timeout_ms", arguments.timeout.map { Int($0.milliseconds) })
    line.add("max_bytes", arguments.maxBytes)
    if !arguments.tags.isEmpty { line.add("tags", arguments.tags) }
    if !arguments.headers.isEmpty {
      line.add("headers", arguments.headers.map { ($0.name, $0.value) })
    }
    return line.bytes
  }

  static func cancel(_ target: CancelTarget) -> [UInt8] {
    var line = RequestLine("cancel")
    switch target {
    case .receipt(let receipt): line.add("receipt", receipt)
    case .slot(let slot): line.add("slot", slot)
    case .tag(let tag): line.add("tag", tag)
    case .all: line.add("all", true)
    }
    return line.bytes
  }

  static func purge(_ filters: PurgeFilters) -> [UInt8] {
    var line = RequestLine("purge")
    for text in filters.texts { line.add(text.field, text.value) }
    line.add("older_than", filters.olderThan.map(seconds))
    line.add("unused_for", filters.unusedFor.map(seconds))
    if filters.expired { line.add("expired", true) }
    if filters.soft { line.add("soft", true) }
    return line.bytes
  }

  /// Whole seconds, rounded up, so that no entry younger than the given age is purged.
  private static func seconds(_ duration: Duration) -> Int {
    let (seconds, attoseconds) = duration.components
    return Int(seconds) + (attoseconds > 0 ? 1 : 0)
  }
}
