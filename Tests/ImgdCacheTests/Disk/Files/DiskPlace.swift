import Glibc
import ImgdSystem
import ImgdTestSupport

@testable import ImgdCache

/// A directory for the disk tier and what else one test needs beside it, gone with it.
final class DiskPlace {
  let root: String
  var path: String { root + "/disk" }

  init() throws { root = try TemporaryDirectory.make() }

  deinit { TemporaryDirectory.remove(root) }

  func open() throws -> DiskDirectory { try DiskDirectory.open(path) }

  /// The problem that opening has, nil for none.
  func problem(_ path: String? = nil) -> DirectoryProblem? {
    do {
      _ = try DiskDirectory.open(path ?? self.path)
      return nil
    } catch { return error }
  }
}

extension PictureDirectory {
  func link(_ prepared: borrowing PreparedFile, as file: PictureFile) throws(SystemFailure) {
    try PictureShelves(self).link(prepared, as: file)
  }

  func remove(_ file: PictureFile) throws(SystemFailure) { try PictureShelves(self).remove(file) }
}

extension DiskDirectory {
  /// Stores bytes as both steps do it.
  func store(_ bytes: [UInt8], as file: PictureFile) throws {
    let prepared = try pictures.prepare(Payload(bytes))
    try pictures.link(prepared, as: file)
  }

  /// The outcome of opening and reading, in a word or the bytes.
  func outcome(_ file: PictureFile, count: Int, allowsWaiting: Bool = true) -> Outcome {
    switch pictures.open(file, count: count, allowsWaiting: allowsWaiting) {
    case .file(let descriptor, _):
      let payload = (try? Payload.read(descriptor, count: count)) ?? nil
      return payload.map { .bytes(content($0)) } ?? .failed("read")
    case .missing: return .missing
    case .damaged(let reason): return .damaged(reason)
    case .wouldWait: return .wouldWait
    case .failed(let failure): return .failed(failure.description)
    }
  }
}

enum Outcome: Equatable {
  case bytes([UInt8]), missing, damaged(String), wouldWait, failed(String)
}

func content(_ payload: Payload) -> [UInt8] {
  payload.withBytes { bytes in bytes.withUnsafeBufferPointer { Array($0) } }
}

/// The file of some picture; the same for the same number.
func picture(_ number: UInt32 = 1, high: UInt64 = 0xABC0_0000_0000_0001) throws -> PictureFile {
  let digest = KeyDigest(high: high, low: 2)
  guard let file = PictureFile(digest: digest, number: number, suffix: "jpg") else {
    throw TestFailure("jpg is a suffix")
  }
  return file
}

func body(_ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ $0 >> 8) }
}

func permissions(_ path: String) throws -> UInt32 { try FileStatus.of(path: path).permissions }

/// The names in a directory, sorted.
func names(_ path: String) throws -> [String] { try Directory(path: path).names().sorted() }

/// Every name below a directory that is no directory itself.
func files(below path: String) throws -> [String] {
  try names(path).flatMap { name in
    let child = path + "/" + name
    return try FileStatus.of(path: child).kind == .directory ? files(below: child) : [child]
  }
}

extension DiskDirectory {
  func path(of file: PictureFile) -> String { file.path(in: layoutPath) }
}
