internal import CVips
import ImgdDecode

/// What libvips says of the last call that failed.
enum VipsError {
  /// The step that has failed.
  enum Step {
    /// The loader, with nothing behind it.
    case loader
    /// Any other: a loader may have failed in it, too.
    case later
  }

  /// The failure, whose text is forgotten then.
  static func takeFailure(of step: Step = .later) -> DecodeFailure {
    defer { vips_error_clear() }
    let text = unsafe String(cString: vips_error_buffer())
    return failure(text.split(separator: "\n").map(String.init), of: step)
  }

  /// What lines of a library say. The first that says why is the reason: further ones are about what failed because of it.
  static func failure(_ lines: [String], of step: Step) -> DecodeFailure {
    for (cause, words) in [(DecodeFailure.Cause.tooLarge, tooLarge), (.unsupported, unsupported)] {
      let line = lines.first { line in
        let line = line.lowercased()
        return words.contains(where: line.contains)
      }
      if let line { return DecodeFailure(cause, line) }
    }
    let reason = lines.first { !$0.contains(attempt) } ?? lines.first ?? "no reason is given"
    return DecodeFailure(step == .loader ? .damaged : .unmade, reason)
  }

  /// Warnings of calls that succeeded stand there as well.
  static func forget() { vips_error_clear() }

  /// libheif looks for more bytes than there are, also where it needs none.
  private static let attempt = ": bad seek to "
  private static let tooLarge = [
    "out of memory", "insufficient memory", "cannot allocate", "failed to allocate",
    "memory error", "exceeds", "too large",
  ]
  private static let unsupported = [
    "unsupported", "not supported", "not known", "class \"", "is blocked", "not implemented",
  ]
}
