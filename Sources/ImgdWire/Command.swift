/// The commands by name, and the fields that each one knows.
enum Command: String, CaseIterable {
  case fetch
  case cancel
  case wait
  case list
  case slots
  case purge
  case stats
  case query
  case entries
  case subscribe
  case hello
  case ping
  case config
  case reload

  /// The request of a command without fields of its own; commands with fields are read elsewhere.
  var bare: Request {
    switch self {
    case .list: .list
    case .slots: .slots
    case .stats: .stats
    case .hello: .hello
    case .config: .config
    case .reload: .reload
    default: .ping
    }
  }

  /// What a refusal of an unknown field offers instead.
  var fieldNames: [String] {
    switch self {
    case .fetch:
      [
        "url", "identifier", "receipt", "cache", "deliver", "store", "resize", "format",
        "priority", "slot", "headers", "progress", "events", "wait", "detach", "timeout_ms",
        "max_bytes", "tags", "ttl", "http",
      ]
    case .cancel: ["receipt", "slot", "tag", "all"]
    case .wait: ["receipt", "deliver"]
    case .purge:
      [
        "tier", "url", "identifier", "prefix", "host", "tag", "older_than", "unused_for",
        "expired", "soft",
      ]
    case .query: ["url", "identifier"]
    case .entries: ["tier", "limit", "cursor", "prefix"]
    case .subscribe: ["events"]
    case .list, .slots, .stats, .hello, .ping, .config, .reload: []
    }
  }
}
