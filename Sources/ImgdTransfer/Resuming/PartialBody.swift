// The beginning of a body that broke off.
//
//   200, breaks off ──→ PartialBody ──→ Range: bytes=N-, If-Range: validator
//                            ▲               ├→ matching 206: continues at N
//                            └── breaks off ─┤
//                                            ├→ 200: the new body, from its start
//                                            └→ 416, or another 206: requested again, whole
//
// The assembled body must equal the origin's, byte for byte. So a beginning is kept only with a strong
// validator, undecoded, and from an origin that announces ranges; and the rest is accepted only if it
// starts where the beginning stops, and has the same total and the same version.

internal import ImgdSystem

/// The first part of a body, with the facts that are needed to fetch the rest.
final class PartialBody {
  var bytes = PayloadWriter()
  /// The head of the first response, updated by later parts.
  let head: HeadCollector
  let validator: StrongValidator
  /// The length of the whole body, if the origin has stated it.
  private let total: Int?

  /// nil when the response cannot be continued.
  init?(of head: HeadCollector, total: Int?) {
    guard head.status == 200, head.first("content-encoding") == nil, head.list("accept-ranges").contains("bytes"),
      let validator = StrongValidator(of: head)
    else { return nil }
    self.head = head
    self.validator = validator
    self.total = total
  }

  var count: Int { bytes.count }

  /// The request headers for the rest.
  var headers: [HeaderField] { [HeaderField("Range", "bytes=\(count)-"), HeaderField("If-Range", validator.text)] }

  /// Whether it may be kept for another transfer: a response that may not be stored may not be kept
  /// here either.
  var mayBeStored: Bool {
    let directives = head.list("cache-control")
    return !directives.contains { $0 == "no-store" || $0 == "private" || $0.hasPrefix("private=") }
  }

  /// The range that a 206 adds; nil when it does not continue this body. `length` is that of the 206's body.
  func range(addedBy head: HeadCollector, length: Int?) -> ContentRange? {
    // A multipart body has no such header: each part states its own range.
    guard head.first("content-encoding") == nil, validator.holds(for: head), let value = head.first("content-range"),
      let range = ContentRange(value), range.first == count, range.total == total ?? range.total,
      length == nil || length == range.count
    else { return nil }
    return range
  }
}
