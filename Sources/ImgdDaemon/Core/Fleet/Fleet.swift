import ImgdCache
import ImgdFleet

/// The edge at which look-ups, pictures and purges leave the core for the server that other hosts use as well.
/// Reports come back as values, through `Core.receive`.
///
/// A test replaces it: behind it are a thread, libhiredis and a server.
protocol Fleet: AnyObject {
  /// Begins to read the log of purges after the last one that was heard; nil where none ever was.
  func join(from position: FleetPosition?)
  func look(_ look: FleetLook)
  /// Claims a picture that a look has found, which is then confirmed or fetched again; it stays readable.
  func claim(serial: UInt64, _ digest: KeyDigest, replacing stamp: UInt64)
  /// Extends a claim by its full time.
  func renew(serial: UInt64)
  /// Ends a look or gives a claim back without a picture; `removing` deletes what is stored, where the origin no longer
  /// has it.
  func release(serial: UInt64, removing: Bool)
  /// Deletes what is stored, without a claim, since it is no longer right.
  func remove(_ digest: KeyDigest)
  func store(_ store: FleetStore)
  /// Puts a purge into the log; `sent` or `unsent` follows.
  func send(_ purge: FleetPurge)
}
