/// The lifetime of answers that bring no picture.
package enum AnswerLifetime {
  /// The lifetime of an answer whose origin names none; nil if it is guessed as for pictures.
  ///
  /// `rule` is the operator's. 404 and 410 follow it in any case, other failures only if nothing tells how
  /// long they have lasted: a picture that has been published in the meantime must not stay missing for long.
  package static func ofSilence(status: Int, headers: HeaderList, rule: Duration) -> Duration? {
    switch status {
    case 404, 410: rule
    case 400...: headers.contains { $0.name == "last-modified" } ? nil : rule
    default: nil
    }
  }
}
