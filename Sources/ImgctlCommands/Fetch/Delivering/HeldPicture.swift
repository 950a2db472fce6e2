import ImgdSystem

/// A picture's descriptor, held until its turn comes.
final class HeldPicture {
  private let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  /// Lends the descriptor.
  func use<R, E: Error>(_ body: (borrowing FileDescriptor) throws(E) -> R) throws(E) -> R { try body(descriptor) }
}
