/// The order in which waiting downloads start.
package enum Order: String, Sendable, CaseIterable { case fifo, lifo }

/// The fate of a running download when no request waits for it any more.
package enum Orphans: String, Sendable, CaseIterable { case cancel, finish }

/// Whether the daemon watches for memory pressure, with the best source on this machine.
package enum PressureChoice: String, Sendable, CaseIterable { case auto, off }

/// Whether the daemon may connect to private and loopback addresses: only if the request's URL leads
/// there, never, or always.
package enum PrivateAddresses: String, Sendable, CaseIterable { case direct, deny, allow }

/// A picture format that may be delivered and cached.
package enum AcceptedType: String, Sendable, CaseIterable {
  case jpeg, png, gif, webp, avif, heic, tiff, bmp, ico, jxl, jp2
}

/// How many decoders may run at once: one for each processor, or a number.
package enum DecoderCount: Sendable, Equatable {
  case auto
  case count(Int)
}

/// Whether a decoder that lacks a part of its sandbox is used.
package enum SandboxChoice: String, Sendable, CaseIterable {
  case required
  case bestEffort = "best-effort"
}

/// The room for pictures on disk: chosen by the size of the file system, or in bytes.
package enum DiskCapacity: Sendable, Equatable {
  case auto
  case bytes(Int)
}

/// An amount in bytes, or as a percentage of another amount.
package enum Share: Sendable, Equatable {
  case bytes(Int)
  case percent(Int)

  /// The amount in bytes; a percentage is taken of `whole`.
  package func bytes(of whole: Int) -> Int {
    switch self {
    case .bytes(let bytes): bytes
    // The division comes first, because the product of a large size and a percentage may overflow.
    case .percent(let percent): whole / 100 * percent + whole % 100 * percent / 100
    }
  }
}
