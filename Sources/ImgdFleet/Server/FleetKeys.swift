internal import ImgdCache

/// The names of everything that the server keeps for a fleet.
struct FleetKeys: Equatable {
  let namespace: String

  /// The stream of all purges.
  var purges: String { namespace + ":purges" }
  /// A random number that is made when the data are new.
  var generation: String { namespace + ":generation" }

  /// A picture, or the claim of the host that fetches it.
  func picture(_ digest: KeyDigest) -> String { "\(namespace):p:\(digest.hex)" }

  /// The claim of the host that confirms a stored picture.
  func refresh(_ digest: KeyDigest) -> String { "\(namespace):r:\(digest.hex)" }

  /// The channel that wakes the hosts that wait for a picture.
  func wake(_ digest: KeyDigest) -> String { "\(namespace):w:\(digest.hex)" }
}
