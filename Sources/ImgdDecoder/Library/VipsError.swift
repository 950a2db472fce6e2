internal import CVips
import ImgdDecode

/// What libvips says about the last call that failed.
enum VipsError {
  /// The step that has failed.
  enum Step {
    /// The loader alone, without later steps.
    case loader
    /// Any other step: a loader may have failed within it, too.
    case later
  }

  /// Returns the failure, and clears its text.
  static func takeFailure(of step: Step = .later) -> DecodeFailure {
    defer { vips_error_clear() }
    let text = unsafe String(cString: vips_error_buffer())
    return failure(text.split(separator: "\n").map(String.init), of: step)
  }

  /// The failure that lines of a library describe. The first line that says why is the reason: later ones are about
  /// what failed because of it.
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

  /// Clears the text, in which warnings of calls that succeeded are found as well.
  static func forget() { vips_error_clear() }

  /// libheif looks for more bytes than there are, even where it needs none.
  private static let attempt = ": bad seek to "
  private static let tooLarge = [
    "out of memory", "insufficient memory", "cannot allocate", "failed to allocate", "memory error", "exceeds",
    "too large",
  ]
  private static let unsupported = [
    "unsupported", "not supported", "not known", "class \"", "is blocked", "not implemented",
  ]
}
