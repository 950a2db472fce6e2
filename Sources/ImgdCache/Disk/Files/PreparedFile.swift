internal import ImgdSystem

/// A picture's bytes in a file that has no name yet; until it is linked it is gone with its owner.
package struct PreparedFile: ~Copyable, Sendable {
  let descriptor: FileDescriptor
  package let count: Int
  /// The bytes that its blocks take.
  package let allocated: Int
}
