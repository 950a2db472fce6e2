// The beginning of a body whose end is still to come.
//
//   200, breaks off ──→ PartialBody ──→ Range: bytes=N-, If-Range: validator
//                            ▲               ├→ 206 that fits: goes on at N
//                            └── breaks off ─┤
//                                            ├→ 200: the new body, from its start
//                                            └→ 416, a 206 that does not fit: asked again, whole
//
// What was put together has to be the body that the origin has, byte for byte. So a beginning counts
// only with a strong validator, undecoded, and from an origin that says it knows ranges; and an end
// only when it begins where the beginning stops, belongs to the same whole, and the same version.

internal import ImgdSystem

/// What has come of a body, and what must be known to fetch the rest.
final class PartialBody {
  var bytes = PayloadWriter()
  /// Of the response that began it, with what later parts have changed.
  let head: HeadCollector
  let validator: StrongValidator
  /// The length of the whole, where the origin has said so.
  private let total: Int?

  /// nil when the response is none that can be continued.
  init?(of head: HeadCollector, total: Int?) {
    guard head.status == 200, head.first("content-encoding") == nil,
      head.list("accept-ranges").contains("bytes"), let validator = StrongValidator(of: head)
    else { return nil }
    self.head = head
    self.validator = validator
    self.total = total
  }

  var count: Int { bytes.count }

  /// What asks for the rest.
  var headers: [HeaderField] {
    [HeaderField("Range", "bytes=\(count)-"), HeaderField("If-Range", validator.text)]
  }

  /// Whether it may be there for the next transfer too: what must not be stored must not wait
  /// here either.
  var mayBeStored: Bool {
    let directives = head.list("cache-control")
    return !directives.contains { $0 == "no-store" || $0 == "private" || $0.hasPrefix("private=") }
  }

  /// Which part a 206 adds; nil when it does not fit. `length` is that of the 206's own body.
  func range(addedBy head: HeadCollector, length: Int?) -> ContentRange? {
    // A body in many parts says in each of them which range it is.
    guard head.first("content-encoding") == nil, validator.holds(for: head),
      let value = head.first("content-range"), let range = ContentRange(value),
      range.first == count, range.total == total ?? range.total,
      length == nil || length == range.count
    else { return nil }
    return range
  }
}
