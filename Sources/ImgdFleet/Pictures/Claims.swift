internal import ImgdCache

/// The claims that this host holds, by the looks that have brought them.
final class Claims {
  private let server: FleetServer
  private var held: [UInt64: PictureClaim] = [:]
  private var lastNumber: UInt64 = 0

  init(_ server: FleetServer) {
    self.server = server
  }

  /// A new, unique claim; nobody holds it yet.
  func make(_ digest: KeyDigest, _ kind: PictureClaim.Kind) -> PictureClaim {
    lastNumber += 1
    return PictureClaim(digest, kind, host: server.host, number: lastNumber)
  }

  /// Takes note that the server has it.
  func hold(_ claim: PictureClaim, for serial: UInt64) {
    held[serial] = claim
  }

  /// Hands out a claim for its end.
  func takeClaim(of serial: UInt64) -> PictureClaim? {
    held.removeValue(forKey: serial)
  }

  /// Keeps it for as long again; one that does not stand any more is found out when the picture is stored.
  func renew(_ serial: UInt64) {
    guard let claim = held[serial] else { return }
    server.order(claim.renewal(in: server.keys))
  }

  /// Gives it back without a picture; where there is none any more, what is stored goes, too.
  func release(_ serial: UInt64, removing: Bool) {
    guard let claim = takeClaim(of: serial) else { return }
    giveBack(claim, removing: removing)
  }

  func giveBack(_ claim: PictureClaim, removing: Bool = false) {
    server.order(claim.release(in: server.keys, removing: removing))
  }

  /// Gives one back that was not needed: the picture has come meanwhile, and nobody is to be told that there
  /// will be none.
  func giveBackUnused(_ claim: PictureClaim) {
    server.order(claim.withdrawal(in: server.keys))
  }

  /// Nobody is to wait for a host that ends.
  func giveAllBack() {
    for claim in held.values { giveBack(claim) }
    held.removeAll()
  }
}
