internal import ImgdCache

/// The claims that this host holds, by the serials of the looks that won them.
final class Claims {
  private let server: FleetServer
  private var held: [UInt64: PictureClaim] = [:]
  private var lastNumber: UInt64 = 0

  init(_ server: FleetServer) { self.server = server }

  /// A new, unique claim; nobody holds it yet.
  func make(_ digest: KeyDigest, _ kind: PictureClaim.Kind) -> PictureClaim {
    lastNumber += 1
    return PictureClaim(digest, kind, host: server.host, number: lastNumber)
  }

  /// Takes note that the server has granted a claim.
  func hold(_ claim: PictureClaim, for serial: UInt64) { held[serial] = claim }

  /// Hands out a claim to be ended, and no longer holds it.
  func takeClaim(of serial: UInt64) -> PictureClaim? { held.removeValue(forKey: serial) }

  /// Renews a claim; if it no longer stands, that shows when the picture is stored.
  func renew(_ serial: UInt64) {
    guard let claim = held[serial] else { return }
    server.order(claim.renewal(in: server.keys))
  }

  /// Gives a claim back without a picture; with `removing`, the stored picture is deleted, too.
  func release(_ serial: UInt64, removing: Bool) {
    guard let claim = takeClaim(of: serial) else { return }
    giveBack(claim, removing: removing)
  }

  func giveBack(_ claim: PictureClaim, removing: Bool = false) {
    server.order(claim.release(in: server.keys, removing: removing))
  }

  /// Gives back a claim that was not needed: the picture has arrived in the meantime, and nobody must be told
  /// that there will be none.
  func giveBackUnused(_ claim: PictureClaim) { server.order(claim.withdrawal(in: server.keys)) }

  /// Keeps other hosts from waiting for one that is stopping.
  func giveAllBack() {
    for claim in held.values { giveBack(claim) }
    held.removeAll()
  }
}
