internal import ImgdCache

/// The right of one host to fetch a picture, as the server keeps it: `#host:number`. It lapses unless it is
/// renewed.
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

  /// The key that holds it.
  func key(in keys: FleetKeys) -> String {
    switch kind {
    case .missing: keys.picture(digest)
    case .refresh: keys.refresh(digest)
    }
  }

  /// Takes it, unless somebody else has it or there is a picture.
  func taking(in keys: FleetKeys) -> RedisCommand {
    var command = RedisCommand("SET", key(in: keys), token, "NX", "PX")
    command.add(Self.lifetime)
    return command
  }

  /// Sets an expiry on the value under the claim's key if it has none.
  func bounding(in keys: FleetKeys) -> RedisCommand {
    RedisCommand("PEXPIRE", key(in: keys), String(Self.lifetime), "NX")
  }

  func renewal(in keys: FleetKeys) -> RedisCommand {
    FleetScript.renew.command(keys: [key(in: keys)], [token, String(Self.lifetime)])
  }

  /// Gives it back, and wakes the others.
  func release(in keys: FleetKeys, removing: Bool = false) -> RedisCommand {
    FleetScript.release.command(
      keys: [key(in: keys), keys.picture(digest), keys.wake(digest)], [token, removing ? "1" : "0"])
  }

  /// Gives it back, and wakes nobody.
  func withdrawal(in keys: FleetKeys) -> RedisCommand { FleetScript.withdraw.command(keys: [key(in: keys)], [token]) }
}
