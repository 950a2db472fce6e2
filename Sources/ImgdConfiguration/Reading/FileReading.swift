import Glibc
internal import ImgdSystem

/// A longer file is not a configuration file.
private let longestFile = 1 << 20

/// The contents of a file; nil if it does not exist.
func readWholeFile(_ path: String) throws(SystemFailure) -> [UInt8]? {
  // The path is a C string for the length of the call.
  let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard number >= 0 else {
    if errno == ENOENT || errno == ENOTDIR { return nil }
    throw SystemFailure("open", path)
  }
  let file = FileDescriptor(owning: number)
  var bytes: [UInt8] = []
  while let more = try readSome(file, path) {
    bytes += more
    guard bytes.count <= longestFile else { throw SystemFailure("read", path, errno: EFBIG) }
  }
  return bytes
}

/// The next bytes of a file, nil at its end.
private func readSome(
  _ file: borrowing FileDescriptor, _ path: String
) throws(SystemFailure) -> [UInt8]? {
  let number = file.number
  var count = 0
  let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, filled in
    repeat {
      // Fills at most the capacity of the buffer.
      count = unsafe read(number, buffer.baseAddress, buffer.count)
    } while count < 0 && errno == EINTR
    filled = max(count, 0)
  }
  if count < 0 { throw SystemFailure("read", path) }
  return count == 0 ? nil : bytes
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
