internal import CMicrohttpd
import Glibc

/// A request's head as it was sent, judged before anybody acts on it.
///
/// A proxy in front may read a head that is not quite sound differently from this server, and take one request for two.
/// So whatever the grammar does not permit is refused, and the connection is closed.
struct RequestHead {
  let method: HTTPMethod
  let isHTTP10: Bool
  /// The head as the library has found it; see `http_read_head`.
  let reading: http_head
  /// The target as it was sent; nil if it is not UTF-8.
  let target: String?
  let host: String?

  /// Why the head is refused; nil if it is sound.
  var refusal: GatewayError? {
    guard reading.is_strict == 1 else { return .badRequest("the head of the request is malformed") }
    guard reading.hosts == 1 || reading.hosts == 0 && isHTTP10 else {
      return .badRequest("a request has one Host field, this has \(reading.hosts)")
    }
    guard reading.lengths + reading.codings < 2 else {
      return .badRequest("the request gives the length of its body more than once")
    }
    guard reading.has_length == 0, reading.codings == 0 else {
      return GatewayError(413, "bad_request", "a request must not have a body")
    }
    guard path != nil else { return .badRequest("the target of the request must be a path that begins with a slash") }
    return nil
  }

  /// The target without a scheme and a host; a host may be given if it is that of the Host field.
  var path: String? {
    guard let target, target.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else { return nil }
    if target.utf8.first == UInt8(ascii: "/") { return target }
    guard method != .other, target != "*" || method != .options else { return target }
    return pathOfAbsolute(target)
  }

  private func pathOfAbsolute(_ target: String) -> String? {
    let lower = target.lowercased()
    guard let scheme = ["http://", "https://"].first(where: { lower.hasPrefix($0) }) else { return nil }
    let rest = target.utf8.dropFirst(scheme.utf8.count)
    let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
    let authority = String(rest[..<end]) ?? ""
    guard !authority.isEmpty else { return nil }
    if let host, host.lowercased() != authority.lowercased() { return nil }
    let path = String(rest[end...]) ?? ""
    return path.utf8.first == UInt8(ascii: "/") ? path : "/" + path
  }
}

/// Searches a request's header fields for those of one name.
struct FieldSearch {
  private let name: String
  private var values: [String] = []

  /// The values in the order in which they were sent; the connection's request must not have ended.
  static func values(of name: String, in connection: OpaquePointer) -> [String] {
    var search = FieldSearch(name: name)
    unsafe withUnsafeMutablePointer(to: &search) { search in
      // The search outlives the call, and is used during the call alone.
      _ = unsafe MHD_get_connection_values_n(connection, .HEADER_KIND, examine, search)
    }
    return search.values
  }

  fileprivate mutating func look(at field: UnsafeBufferPointer<CChar>, _ value: UnsafeBufferPointer<CChar>) {
    guard field.count == name.utf8.count, let start = field.baseAddress,
      unsafe strncasecmp(start, name, field.count) == 0
    else { return }
    var end = value.count
    while end > 0, unsafe Self.isBlank(value[end - 1]) { end -= 1 }
    unsafe value[..<end].withMemoryRebound(to: UInt8.self) { bytes in
      unsafe values.append(String(decoding: bytes, as: UTF8.self))
    }
  }

  private static func isBlank(_ byte: CChar) -> Bool {
    byte == CChar(UInt8(ascii: " ")) || byte == CChar(UInt8(ascii: "\t"))
  }
}

/// Called for each field; the context is the search.
private func examine(
  _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameLength: Int,
  _ value: UnsafePointer<CChar>?, _ valueLength: Int
) -> MHD_Result {
  guard let context = unsafe context else { return .NO }
  unsafe context.assumingMemoryBound(to: FieldSearch.self).pointee.look(
    at: UnsafeBufferPointer(start: name, count: nameLength), UnsafeBufferPointer(start: value, count: valueLength))
  return .YES
}
