/// What a client chose to find its answers by, echoed as it came.
package enum RequestID: Hashable, Sendable {
  case none
  case integer(Int64)
  /// At most 64 bytes.
  case string(String)
}
