/// Everything that one exchange needs to know before it begins.
struct Request {
  let url: TransferURL
  let headers: [HeaderField]
  let settings: TransferSettings
  /// An earlier hop was to a public address.
  var afterPublic = false
  /// Off when the origin has labelled plain bytes as encoded.
  var decodes = true
  /// Opens a new connection although one may be kept.
  var avoidsKeptConnections = false
  /// What asks for the rest of a body that has begun to come before.
  var resuming: [HeaderField] = []

  /// The header lines in curl's notation: the order's fields, then the engine's where the order has
  /// none. curl would send `Expect` by itself.
  var headerLines: [String] {
    let sound = headers.filter { $0.isOneLine }
    let names = Set(sound.map { $0.name.lowercased() })
    let own = [
      HeaderField("User-Agent", settings.userAgent), HeaderField("Accept", settings.accept),
    ].filter { !names.contains($0.name.lowercased()) && $0.isOneLine }
    return (sound + own + resuming).map(\.line) + ["Expect:"]
  }
}

extension HeaderField {
  /// Whether the field ends where it seems to: one with a line end in it would be two.
  fileprivate var isOneLine: Bool {
    !name.isEmpty && !(name + value).utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f }
  }

  /// To curl, `Name:` means to leave the field out and `Name;` that it has no value.
  fileprivate var line: String { value.isEmpty ? "\(name);" : "\(name): \(value)" }
}
