import ImgdSystem
import ImgdTestSupport

@testable import ImgdFleet

/// A command as a server takes it.
struct PlannedCommand {
  /// Pictures are longer, and no text.
  private static let longestText = 4_096

  /// Its words.
  let words: [[UInt8]]
  /// Its words as far as they are text.
  let texts: [String]
  /// What tests call it: its first word, or the script's name; and what it is about, where one word stands for two
  /// questions.
  let name: String
  /// The keys of a script; the first one of any other command.
  let keys: [String]
  /// What follows the keys.
  let arguments: [String]

  init(_ command: RedisCommand) {
    words = RedisValue.parse(command.bytes[...])?.value.list?.map { $0.bytes ?? [] } ?? []
    texts = words.map { word in
      word.count <= Self.longestText ? String(decoding: word, as: UTF8.self) : "…"
    }
    name = Self.name(texts)
    let isScript = texts.first == "EVAL"
    let start = isScript ? 3 : 1
    keys = Array(texts.dropFirst(start).prefix(isScript ? Int(texts[2]) ?? 0 : 1))
    arguments = Array(texts.dropFirst(start + keys.count))
  }

  private static func name(_ texts: [String]) -> String {
    switch texts.first ?? "" {
    case "EVAL": FleetScript(rawValue: texts[1]).map { "\($0)" } ?? "EVAL"
    case "GET", "SET":
      texts[1].hasSuffix(":generation") ? texts[0] + " generation" : texts[0]
    case "XRANGE": texts[2].hasPrefix("(") ? "XRANGE page" : "XRANGE heard"
    case let name: name
    }
  }
}

extension RedisCommand {
  /// As the server reads it.
  var bytes: [UInt8] { front + (payload.map { $0.bytes + Self.lineEnd } ?? []) }
}
