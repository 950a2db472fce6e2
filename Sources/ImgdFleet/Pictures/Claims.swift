internal import ImgdCache

/// The claims that this host holds, by the serials of the looks that won them.
final class Claims {
  private unowned let server: PictureServer
  private var held: [UInt64: PictureClaim] = [:]
  private var lastNumber: UInt64 = 0

  init(_ server: PictureServer) { self.server = server }

  /// A new, unique claim; nobody holds it yet.
  func make(_ digest: KeyDigest, _ kind: PictureClaim.Kind) -> PictureClaim {
    lastNumber += 1
    return PictureClaim(digest, kind, host: server.host, number: lastNumber)
  }

  func hold(_ claim: PictureClaim, for serial: UInt64) { held[serial] = claim }

  /// Hands out a claim to be ended, and no longer holds it.
  func takeClaim(of serial: UInt64) -> PictureClaim? { held.removeValue(forKey: serial) }

  /// Renews a claim; if it no longer stands, that shows when the picture is stored.
  func renew(_ serial: UInt64) {
    if let claim = held[serial] { server.order(claim.renewal(in: server.keys)) }
  }

  /// Gives a claim back without a picture; with `removing`, the stored picture is deleted, too.
  func release(_ serial: UInt64, removing: Bool) {
    if let claim = takeClaim(of: serial) { giveBack(claim, removing: removing) }
  }

  func giveBack(_ claim: PictureClaim, removing: Bool = false) {
    server.order(claim.release(in: server.keys, removingUpTo: removing ? server.settings.layout : 0))
  }

  /// Keeps other hosts from waiting for one that is stopping.
  func giveAllBack() {
    for claim in held.values { giveBack(claim) }
    held.removeAll()
  }
}

/// The right of one host to fetch a picture, as the server keeps it: `#host:number`. It lapses unless it is renewed.
struct PictureClaim: Equatable {
  /// In milliseconds. A host that has died keeps others waiting no longer than this.
  static let lifetime = 10_000
  /// Tells a claim from a picture.
  static let sign = UInt8(ascii: "#")

  enum Kind: Equatable {
    /// For a picture that is not there: the claim is stored under the picture's key.
    case missing
    /// For a picture that is there and has to be confirmed: the claim has a key of its own.
    case refresh
  }

  let digest: KeyDigest
  let kind: Kind
  let token: String

  init(_ digest: KeyDigest, _ kind: Kind, host: String, number: UInt64) {
    self.digest = digest
    self.kind = kind
    token = "#\(host):\(number)"
  }

  func key(in keys: FleetKeys) -> String {
    switch kind {
    case .missing: keys.picture(digest)
    case .refresh: keys.refresh(digest)
    }
  }

  /// Takes it, unless somebody else has it or there is a picture.
  func taking(in keys: FleetKeys) -> RedisCommand {
    RedisCommand("SET", key(in: keys), token, "NX", "PX", String(Self.lifetime))
  }

  /// Sets an expiry on the value under the claim's key if it has none.
  func bounding(in keys: FleetKeys) -> RedisCommand {
    RedisCommand("PEXPIRE", key(in: keys), String(Self.lifetime), "NX")
  }

  func renewal(in keys: FleetKeys) -> RedisCommand {
    FleetScript.renew.command(keys: [key(in: keys)], [token, String(Self.lifetime)])
  }

  /// Gives it back, and wakes the others; a picture up to a layout goes, too.
  func release(in keys: FleetKeys, removingUpTo layout: UInt8 = 0) -> RedisCommand {
    FleetScript.release.command(
      keys: [key(in: keys), keys.picture(digest), keys.wake(digest)], [token, String(layout)])
  }

  /// Gives it back, and wakes nobody.
  func withdrawal(in keys: FleetKeys) -> RedisCommand { FleetScript.withdraw.command(keys: [key(in: keys)], [token]) }
}
