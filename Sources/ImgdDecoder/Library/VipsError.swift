internal import CVips
import ImgdDecode

/// What libvips says of the last call that failed.
enum VipsError {
  /// The failure, whose text is forgotten then.
  static func take() -> DecodeFailure {
    defer { vips_error_clear() }
    let text = unsafe String(cString: vips_error_buffer())
    // Further lines are about what failed because of the first.
    let reason = text.split(separator: "\n").first.map(String.init) ?? "no reason is given"
    return DecodeFailure(cause(of: text), reason)
  }

  /// Warnings of calls that succeeded stand there as well.
  static func forget() { vips_error_clear() }

  private static func cause(of text: String) -> DecodeFailure.Cause {
    let text = text.lowercased()
    if tooLarge.contains(where: text.contains) { return .tooLarge }
    return unsupported.contains(where: text.contains) ? .unsupported : .damaged
  }

  private static let tooLarge = [
    "out of memory", "insufficient memory", "cannot allocate", "exceeds", "too large",
  ]
  private static let unsupported = [
    "unsupported", "not supported", "not known", "class \"", "is blocked", "not implemented",
  ]
}
