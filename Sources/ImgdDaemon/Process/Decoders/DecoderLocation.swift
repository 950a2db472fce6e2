import Glibc

/// Where the decoder's program is looked for.
struct DecoderLocation: Sendable {
  static let name = "imgd-decoder"

  /// The paths to try: the first one that leads to a program is used.
  let places: [String]

  init(places: [String]) { self.places = places }

  /// Looks beside another program, and where packages put programs that nobody calls by name.
  init(beside executable: String) {
    guard let slash = executable.lastIndex(of: "/") else {
      places = []
      return
    }
    let directory = executable[..<slash]
    places = ["", "../lib/imgd/", "../libexec/imgd/"].map { "\(directory)/\($0)\(Self.name)" }
  }

  /// As seen from the daemon itself, even if its file has been replaced since it was started.
  static var ofDaemon: DecoderLocation { DecoderLocation(beside: ownPath) }

  var path: String? { places.first { unsafe access($0, X_OK) == 0 } }

  /// Empty without /proc.
  private static var ownPath: String {
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { room, filled in
      filled = unsafe room.withMemoryRebound(to: CChar.self) {
        guard let start = $0.baseAddress else { return 0 }
        return unsafe max(readlink("/proc/self/exe", start, $0.count), 0)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
