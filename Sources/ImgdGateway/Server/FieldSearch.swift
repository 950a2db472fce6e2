internal import CMicrohttpd
import Glibc

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

  private init(name: String) { self.name = name }

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
