internal import ImgdCache

enum RedisReply: Sendable, Equatable {
  case bytes([UInt8])
  /// A long string for a command that asks for a value.
  case value(ArrivedValue)
  case word(String)
  case number(Int64)
  case nothing
  case list([RedisReply])
  /// The server's own words for what was wrong, beginning with a word in capitals.
  case failure(String)
  /// The connection has ended before there was an answer.
  case lost

  var text: String? { if case .bytes(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil } }

  var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

  var list: [RedisReply]? { if case .list(let parts) = self { parts } else { nil } }

  var isOK: Bool { self == .word("OK") }
}
