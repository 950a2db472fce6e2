/// Which of the waiting downloads starts next.
package enum Order: String, Sendable, CaseIterable {
  case fifo, lifo
}

/// What becomes of a download that nobody waits for any more.
package enum Orphans: String, Sendable, CaseIterable {
  case cancel, finish
}

/// Whether the daemon watches how short the machine is of memory, by whatever means there is.
package enum PressureChoice: String, Sendable, CaseIterable {
  case auto, off
}

/// Whether private and loopback addresses may be asked: only when the request itself names them,
/// never, or always.
package enum PrivateAddresses: String, Sendable, CaseIterable {
  case direct, deny, allow
}

/// A kind of picture that may be delivered and kept.
package enum AcceptedType: String, Sendable, CaseIterable {
  case jpeg, png, gif, webp, avif, heic, tiff, bmp, ico, jxl, jp2
}

/// An amount given in bytes, or as a part of another amount.
package enum Share: Sendable, Equatable {
  case bytes(Int)
  case percent(Int)

  /// The amount in bytes, where `whole` is what a percentage is of.
  package func bytes(of whole: Int) -> Int {
    switch self {
    case .bytes(let bytes): bytes
    // Whole hundreds first: the product of a large size and a percentage need not fit.
    case .percent(let percent): whole / 100 * percent + whole % 100 * percent / 100
    }
  }
}
