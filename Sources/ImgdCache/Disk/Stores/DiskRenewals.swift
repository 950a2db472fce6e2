internal import ImgdSystem

/// Rewrites the records of pictures that their origin has confirmed; the files stay as they are.
final class DiskRenewals: DiskPart {
  let ground: DiskGround
  /// Images whose rows are being written, by the numbers of their entries.
  private var renewals: [UInt32: CachedImage] = [:]

  init(_ ground: DiskGround) { self.ground = ground }

  /// The renewed image of an entry whose row may still be the old one.
  func image(of number: UInt32) -> CachedImage? { renewals[number] }

  func renew(_ image: CachedImage, countsAsUse: Bool) {
    guard let file = image.file, let entry = files.entry(of: file),
      let record = StoredRecord(image, wall: rules.wall, at: loop.now)
    else { return }
    var row = IndexRow(
      record: record, host: image.url.host, suffix: files.suffix(of: image.facts),
      lastAccess: countsAsUse ? rules.wall : Int64(entry.lastAccess))
    row.number = entry.number
    row.allocated = entry.allocated
    index.renew(file.place, by: record)
    renewals[entry.number] = image
    threads.order(
      { [row] (disk) throws(DiskTrouble) in try disk.renew(row) },
      then: { [unowned self] _ in if renewals[entry.number] === image { renewals[entry.number] = nil } })
  }

  /// Starts over with another index.
  func forget() { renewals = [:] }
}
