internal import Glibc
internal import ImgdCache
internal import ImgdSystem

/// Extends and inspects an index file without a daemon, so that a million entries can be measured
/// without fetching a million pictures.
enum IndexGrowth {
  private static let atOnce = 50_000

  /// Adds copies of the first entry under other names until there are `count`, with files or without.
  static func multiply(_ path: String, to count: Int, withFiles: Bool) throws(BenchFailure) {
    do {
      let directory = try DiskDirectory.open(path)
      let index = try IndexFile(path: directory.indexPath, access: .readWrite)
      guard let template = try index.entries.page(after: 0, limit: 1, examined: 1).rows.first else {
        throw BenchFailure.unavailable("there is no entry to copy in \(path)")
      }
      var known = try index.countEntries()
      while known < count {
        let part = known..<min(known + atOnce, count)
        let files = try index.add(part.map { template.copy($0) })
        if withFiles { try directory.pictures.fill(files, bytes: template.record.bytes) }
        known = part.upperBound
      }
      try index.close(clean: true)
    } catch let failure as BenchFailure {
      throw failure
    } catch {
      throw .unavailable("the index cannot grow: \(error)")
    }
  }

  /// Waits until only `left` entries remain and no file has to be removed any more; returns the time.
  static func awaitRemovals(_ path: String, left: Int) throws(BenchFailure) -> Double {
    do throws(IndexProblem) {
      let index = try IndexFile(path: path + "/1/index.db", access: .readOnly)
      var end = now()
      repeat {
        while try index.hasUnlinks() { usleep(500) }
        end = now()
        // Removal is done in parts: between two of them there is nothing to remove either.
      } while try index.countEntries() > left
      return end
    } catch {
      throw .unavailable("the index cannot be read: \(error)")
    }
  }
}

extension IndexRow {
  /// A copy of the entry with another digest and time of use, both spread like real ones.
  fileprivate func copy(_ number: Int) -> IndexRow {
    let spread = UInt64(number) &* 0x9e37_79b9_7f4a_7c15
    var copy = self
    copy.record.url = "\(record.url)?copy=\(number)"
    copy.record.digest = KeyDigest(high: spread, low: spread ^ UInt64(number))
    copy.lastAccess -= Int64(spread >> 46)
    return copy
  }
}

extension IndexFile {
  fileprivate func countEntries() throws(IndexProblem) -> Int {
    var count = 0
    var part = try entries.entries(after: 0, limit: 10_000)
    while let last = part.last {
      count += part.count
      part = try entries.entries(after: last.number, limit: 10_000)
    }
    return count
  }

  fileprivate func add(_ rows: [IndexRow]) throws(IndexProblem) -> [PictureFile] {
    try write { () throws(IndexProblem) in
      var files: [PictureFile] = []
      for row in rows {
        let number = try entries.insert(row, retiring: 0).number
        if let file = PictureFile(digest: row.record.digest, number: number, suffix: row.suffix) {
          files.append(file)
        }
      }
      return files
    }
  }

  fileprivate func hasUnlinks() throws(IndexProblem) -> Bool { try !unlinks.due().isEmpty }
}

extension PictureDirectory {
  fileprivate func fill(_ files: [PictureFile], bytes: Int) throws(SystemFailure) {
    let payload = Payload(PNGFile.make(bytes: bytes, seed: 0))
    let shelves = PictureShelves(self)
    for file in files { try shelves.link(try prepare(payload), as: file) }
  }
}
