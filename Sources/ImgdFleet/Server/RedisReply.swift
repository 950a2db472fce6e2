internal import CHiredis
internal import ImgdSystem

enum RedisReply: Sendable, Equatable {
  case bytes([UInt8])
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

  private static let longestFailure = 300

  /// Copies what hiredis has read. hiredis goes no deeper than seven arrays.
  init(_ reply: UnsafePointer<redisReply>) {
    switch unsafe reply.pointee.type {
    case REDIS_REPLY_STRING: self = unsafe .bytes(Self.bytes(of: reply))
    case REDIS_REPLY_STATUS: self = unsafe .word(String(decoding: Self.bytes(of: reply), as: UTF8.self))
    case REDIS_REPLY_INTEGER: self = unsafe .number(reply.pointee.integer)
    case REDIS_REPLY_ARRAY: self = unsafe .list(Self.parts(of: reply))
    case REDIS_REPLY_ERROR:
      let text = unsafe String(decoding: Self.bytes(of: reply), as: UTF8.self)
      self = .failure(printable(text, longest: Self.longestFailure))
    default: self = .nothing
    }
  }

  private static func bytes(of reply: UnsafePointer<redisReply>) -> [UInt8] {
    let count = unsafe reply.pointee.len
    return unsafe [UInt8](UnsafeRawBufferPointer(start: reply.pointee.str, count: count))
  }

  private static func parts(of reply: UnsafePointer<redisReply>) -> [RedisReply] {
    let parts = unsafe UnsafeBufferPointer(start: reply.pointee.element, count: reply.pointee.elements)
    return unsafe parts.map { part in
      guard let part = unsafe part else { return .nothing }
      return unsafe RedisReply(part)
    }
  }
}

struct RedisCommand {
  private var count = 0
  private var parts: [UInt8] = []

  init(_ words: String...) { for word in words { add(word) } }

  mutating func add(_ text: String) {
    open(text.utf8.count)
    parts += text.utf8
    parts += "\r\n".utf8
  }

  mutating func add(_ bytes: [UInt8]) {
    open(bytes.count)
    parts += bytes
    parts += "\r\n".utf8
  }

  private mutating func open(_ length: Int) {
    count += 1
    parts += "$\(length)\r\n".utf8
  }

  var bytes: [UInt8] { Array("*\(count)\r\n".utf8) + parts }
}
