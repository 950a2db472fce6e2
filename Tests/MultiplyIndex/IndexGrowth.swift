import ImgdCache
import ImgdSystem

/// A cache directory that is to have more entries.
struct IndexGrowth {
  /// Copies of one commit.
  private static let atOnce = 50_000

  private let directory: DiskDirectory
  private let index: IndexFile
  /// The entry that is copied.
  private let template: IndexRow

  init(of cache: String) throws {
    directory = try DiskDirectory.open(cache)
    index = try IndexFile(path: directory.indexPath, access: .readWrite)
    guard let first = try index.entries.page(after: 0, limit: 1, examined: 1).rows.first else {
      throw Problem("there is no entry to copy in \(cache)")
    }
    template = first
  }

  /// Adds copies until there are `count` entries, and closes the index.
  func grow(to count: Int, withFiles: Bool) throws {
    let bytes = withFiles ? try bytesOfTemplate() : nil
    var known = try index.countEntries()
    while known < count {
      let part = known..<min(known + Self.atOnce, count)
      let files = try index.add(part.map { template.copy($0) })
      if let bytes { try directory.pictures.fill(files, bytes) }
      known = part.upperBound
    }
    try index.close(clean: true)
  }

  private func bytesOfTemplate() throws -> Payload {
    let (digest, count) = (template.record.digest, template.record.bytes)
    let file = PictureFile(digest: digest, number: template.number, suffix: template.suffix)
    guard let file,
      case .file(let descriptor, _) = directory.pictures.open(
        file, count: count, allowsWaiting: true),
      let bytes = try Payload.read(descriptor, count: count)
    else {
      throw Problem("the first picture in \(directory.path) has no file that could be copied")
    }
    return bytes
  }

  private struct Problem: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
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
}

extension PictureDirectory {
  fileprivate func fill(_ files: [PictureFile], _ bytes: Payload) throws(SystemFailure) {
    let shelves = PictureShelves(self)
    for file in files { try shelves.link(try prepare(bytes), as: file) }
  }
}
