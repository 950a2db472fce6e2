internal import ImgdSystem

/// What a host writes about itself into the server, for people to compare: names and values, one pair a line.
///
/// It begins with the time at which it was written, by which the server's script tells who has gone. Hosts of other
/// versions may have more to say: what is not known here is passed over.
package struct HostNote: Sendable, Equatable {
  /// A setting that may keep a host from taking what others have, as its configuration shows it.
  package struct Setting: Sendable, Equatable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package static let mostBytes = 1_024
  private static let longestName = 64
  private static let longestSetting = 256
  private static let mostSettings = 16

  /// The name of the machine.
  package var machine = ""
  package var version = ""
  /// The newest layout of values that it reads.
  package var layout = 0
  /// The last purge that is in force there.
  package var position: UInt64 = 0
  /// Purges of others that it has heard and not carried out, and its own that are not in the log.
  package var waiting = 0
  package var pending = 0
  package var settings: [Setting] = []

  package init() {}

  /// The line as it is written at a time of the server's clock; settings for which there is no room are left out.
  func text(at now: Int64) -> String {
    let facts = [
      ("at", String(now)), ("machine", machine), ("version", version), ("layout", String(layout)),
      ("position", String(position)), ("waiting", String(waiting)), ("pending", String(pending)),
    ]
    var text = ""
    for (name, value) in facts + settings.map({ ($0.name, $0.value) }) {
      let line = "\(name)=\(printable(value, longest: Self.longestSetting))\n"
      if text.utf8.count + line.utf8.count <= Self.mostBytes { text += line }
    }
    return text
  }

  /// Reads a line that anybody may have written, with its time; nil where it is none.
  static func read(_ bytes: [UInt8]) -> (line: HostNote, at: Int64)? {
    guard bytes.count <= mostBytes, let text = String(validating: bytes, as: UTF8.self) else { return nil }
    var (line, at) = (HostNote(), nil as Int64?)
    for row in text.split(separator: "\n") {
      guard let sign = row.firstIndex(of: "=") else { return nil }
      let (name, value) = (row[..<sign], row[row.index(after: sign)...])
      switch name {
      case "at": at = Int64(value)
      case "machine": line.machine = printable(String(value), longest: longestName)
      case "version": line.version = printable(String(value), longest: longestName)
      case "layout": line.layout = Int(value) ?? 0
      case "position": line.position = UInt64(value) ?? 0
      case "waiting": line.waiting = max(Int(value) ?? 0, 0)
      case "pending": line.pending = max(Int(value) ?? 0, 0)
      default: line.add(name, value)
      }
    }
    guard let at, ServerClock.times ~= at, !line.version.isEmpty else { return nil }
    return (line, at)
  }

  /// Adds a setting, which has the name of its section and a dot in front.
  private mutating func add(_ name: Substring, _ value: Substring) {
    guard name.utf8.count <= Self.longestName, name.utf8.allSatisfy(Self.isOfName), name.contains("."),
      settings.count < Self.mostSettings, !settings.contains(where: { $0.name == name })
    else { return }
    settings.append(Setting(String(name), printable(String(value), longest: Self.longestSetting)))
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."): true
    default: false
    }
  }
}
