package import ImgdSystem

/// How much may be left to the next process.
package struct HandoverLimits: Sendable {
  /// Descriptors in all, including one for the index and one for the pack.
  package var descriptors: Int
  /// Bytes in memfds of their own.
  package var bytes: Int
  /// Bytes of the pack: they are copied when they are left and when they are taken over.
  package var packBytes: Int
  /// Bytes of the index, estimated by what its entries cost in memory, which is a little more.
  package var indexBytes: Int

  package init(descriptors: Int, bytes: Int, packBytes: Int = 32 << 20, indexBytes: Int = 6 << 20) {
    self.descriptors = descriptors
    self.bytes = bytes
    self.packBytes = packBytes
    self.indexBytes = indexBytes
  }
}

/// The pictures that are left to the next process.
package struct Handover {
  /// The index, in a memfd.
  package let index: Payload
  /// The memfds that hold what it describes.
  package let bodies: [Payload]
  package let entries: Int
}

/// Why the pictures of an earlier process are not taken over.
package enum HandoverProblem: Error, Equatable, CustomStringConvertible {
  case notWhole
  case otherRelease
  case notClean

  package var description: String {
    switch self {
    case .notWhole: "it is not whole"
    case .otherRelease: "another release wrote it"
    case .notClean: "its daemon did not stop in good order"
    }
  }
}
