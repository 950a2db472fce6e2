// A run ends with a look at all counters of the program, and of these a target needs those of the modules that it is for:
// the others would take more time than most targets. So the linker hands the counters to us (`--wrap`), and those of the
// modules are passed on when the target is known.

/// Counters, and for each the place in the code and flags.
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

/// What `dladdr` tells, which Glibc's module does not have: a file, where it is loaded, a name, and where that is.
private typealias SymbolInfo = (UnsafePointer<CChar>?, UnsafeRawPointer?, UnsafePointer<CChar>?, UnsafeRawPointer?)

@_silgen_name("dladdr")
private func findSymbol(_ place: UnsafeRawPointer?, _ info: UnsafeMutablePointer<SymbolInfo>) -> CInt

enum Coverage {
  /// Counters lie in the order of the modules. So many have one owner.
  private static let block = 2048

  /// Has libFuzzer see the counters of some modules, and of this one.
  static func look(at modules: Set<String>) {
    guard let counters, let places else { return }
    let count = counters.end - counters.start
    for start in stride(from: 0, to: count, by: block) {
      let end = min(start + block, count)
      guard modules.contains(owner(of: start..<end)) else { continue }
      passOn(counters.start + start, counters.start + end)
      passOn(places + 2 * start, places + 2 * end)
    }
  }

  /// The module of the first function in a block that has a name.
  private static func owner(of block: Range<Int>) -> String {
    for index in block {
      var info: SymbolInfo = (nil, nil, nil, nil)
      guard let places, findSymbol(UnsafeRawPointer(bitPattern: places[2 * index]), &info) != 0, let name = info.2
      else { continue }
      return module(of: String(cString: name))
    }
    return ""
  }

  /// `$s9ImgdCache…` is of ImgdCache; functions of C have no module in their names.
  private static func module(of symbol: String) -> String {
    guard symbol.hasPrefix("$s") else { return "C" }
    let digits = symbol.dropFirst(2).prefix { $0.isNumber }
    return String(symbol.dropFirst(2 + digits.count).prefix(Int(digits) ?? 0))
  }
}
