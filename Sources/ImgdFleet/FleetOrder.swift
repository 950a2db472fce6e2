package import ImgdCache
package import ImgdSystem

/// A look-up of a picture in the fleet's server. All events about it carry its serial.
package struct FleetLook: Sendable {
  package let serial: UInt64
  package let digest: KeyDigest
  /// Whether the picture will be fetched from its origin if it is not there: then the look claims it, so that
  /// other hosts wait for it. Otherwise it only reads.
  package let claims: Bool

  package init(serial: UInt64, digest: KeyDigest, claims: Bool) {
    self.serial = serial
    self.digest = digest
    self.claims = claims
  }
}

/// A picture for the fleet's server.
package struct FleetStore: Sendable {
  /// The look whose claim it fulfils: it is stored only as long as the claim stands. A picture without a
  /// claim replaces only an older one.
  package let serial: UInt64
  package let record: StoredRecord
  package let payload: Payload
  /// How long ago the picture was stored here, and how long ago its transfer began.
  package let age: Duration
  package let begunAgo: Duration
  /// The last purge that had been heard when the transfer began: later ones are about the picture, too.
  package let mark: FleetPosition
  /// How long the server is to keep it.
  package let lifetime: Duration

  package init(
    serial: UInt64, record: StoredRecord, payload: Payload, age: Duration, begunAgo: Duration, mark: FleetPosition,
    lifetime: Duration
  ) {
    self.serial = serial
    self.record = record
    self.payload = payload
    self.age = age
    self.begunAgo = begunAgo
    self.mark = mark
    self.lifetime = lifetime
  }
}
