import Glibc
internal import ImgdSystem

/// A longer file is not a configuration file.
private let longestFile = 1 << 20

/// The contents of a file; nil if it does not exist.
func readWholeFile(_ path: String) throws(SystemFailure) -> [UInt8]? {
  do throws(SystemFailure) {
    let bytes = try FileDescriptor(opening: path, O_RDONLY).rest(longestFile + 1, of: path)
    guard bytes.count <= longestFile else { throw SystemFailure("read", path, errno: EFBIG) }
    return bytes
  } catch {
    if error.errno == ENOENT || error.errno == ENOTDIR { return nil }
    throw error
  }
}

/// The names in a directory that end in a suffix, in byte order and without hidden names; none if the
/// directory does not exist.
func namesInDirectory(_ path: String, suffix: String) throws(SystemFailure) -> [String] {
  guard let directory = unsafe opendir(path) else {
    if errno == ENOENT || errno == ENOTDIR { return [] }
    throw SystemFailure("opendir", path)
  }
  // The only place that closes the directory.
  defer { unsafe closedir(directory) }
  var names: [String] = []
  // The entry is valid until the next call, and its name ends in a zero.
  while let entry = unsafe readdir(directory) {
    let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
      unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
    }
    if name.hasSuffix(suffix), !name.hasPrefix(".") { names.append(name) }
  }
  return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
}
