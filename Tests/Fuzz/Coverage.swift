// A run ends with a look at all counters of the program, and of these a target needs those of the modules that it is for:
// the others would take more time than most targets. So the linker leaves the counters to us (`--wrap`), and those of the
// modules are passed on when the target is known. Which are whose says a file that `.ci/fuzz` makes of the linker's map:
// a module, its first counter, and how many it has, in a line for each.

import Glibc

/// Counters, and for each a place in the code and flags.
nonisolated(unsafe) private var counters: (start: UnsafeMutablePointer<UInt8>, end: UnsafeMutablePointer<UInt8>)?
nonisolated(unsafe) private var places: UnsafePointer<UInt>?

@_cdecl("__wrap___sanitizer_cov_8bit_counters_init")
func keepCounters(_ start: UnsafeMutablePointer<UInt8>, _ end: UnsafeMutablePointer<UInt8>) { counters = (start, end) }

@_cdecl("__wrap___sanitizer_cov_pcs_init")
func keepPlaces(_ start: UnsafePointer<UInt>, _ end: UnsafePointer<UInt>) { places = start }

@_silgen_name("__real___sanitizer_cov_8bit_counters_init")
private func passOn(_ start: UnsafeMutablePointer<UInt8>, _ end: UnsafeMutablePointer<UInt8>)

@_silgen_name("__real___sanitizer_cov_pcs_init")
private func passOn(_ start: UnsafePointer<UInt>, _ end: UnsafePointer<UInt>)

enum Coverage {
  /// Has libFuzzer see the counters of some modules; of all without the file.
  static func look(at modules: Set<String>) {
    guard let counters, let places else { return }
    let count = counters.end - counters.start
    for part in parts(of: modules) ?? [0..<count] {
      precondition(part.upperBound <= count, "the map is of another program")
      passOn(counters.start + part.lowerBound, counters.start + part.upperBound)
      passOn(places + 2 * part.lowerBound, places + 2 * part.upperBound)
    }
  }

  private static func parts(of modules: Set<String>) -> [Range<Int>]? {
    guard let path = getenv("IMGD_FUZZ_COUNTERS") else { return nil }
    return String(decoding: contents(String(cString: path)), as: UTF8.self).split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count == 3, modules.contains(String(words[0])), let start = Int(words[1]), let count = Int(words[2])
      else { return nil }
      return start..<start + count
    }
  }
}

/// The bytes of a file, up to a megabyte.
func contents(_ path: String) -> [UInt8] {
  guard let file = fopen(path, "rb") else { preconditionFailure("there is no file \(path)") }
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: 1 << 20)
  bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
  return bytes
}
