import ImgdSystem

/// A descriptor with a picture that waits until it is its turn.
final class HeldPicture {
  private let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  /// Lends the descriptor.
  func use<R, E: Error>(_ body: (borrowing FileDescriptor) throws(E) -> R) throws(E) -> R {
    try body(descriptor)
  }
}
