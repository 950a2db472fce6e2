private import CBench
import Glibc

/// Pictures of one kind, drawn so that they are about as hard to decode as photographs.
struct PictureSet {
  enum Format: String {
    case jpeg, png, webp

    var code: CInt {
      switch self {
      case .jpeg: CInt(BENCH_JPEG)
      case .png: CInt(BENCH_PNG)
      case .webp: CInt(BENCH_WEBP)
      }
    }

    fileprivate var ending: String { self == .jpeg ? "jpg" : rawValue }
  }

  let name: String
  let format: Format
  let paths: [String]
  /// Of equal length.
  let urls: [String]

  /// Draws different pictures into a directory of the origin, in another process, which has the library.
  ///
  /// Each file has about so many bytes, or is of a usual quality.
  init(
    _ bench: Bench, _ origin: Nginx, _ name: String, _ format: Format, count: Int, width: Int,
    height: Int, bytes: Int? = nil
  ) throws(BenchFailure) {
    let folder = "\(format.rawValue)-\(width)"
    let directory = "\(origin.directory)/\(folder)"
    try File.makeDirectory(directory)
    try Child.finish(
      [
        Options.own, "draw", directory, format.rawValue, "\(count)", "\(width)",
        "\(height)", "\(bytes ?? 0)",
      ], log: bench.path("draw.log"))
    let files = (0..<count).map { Self.file(number: $0, format) }
    self.name = name
    self.format = format
    paths = files.map { "\(directory)/\($0)" }
    urls = files.map { origin.url("\(folder)/\($0)") }
  }

  private static func file(number: Int, _ format: Format) -> String {
    "\(100_000 + number).\(format.ending)"
  }

  // MARK: Drawing

  private static let usualQuality = 80

  /// `draw DIRECTORY FORMAT COUNT WIDTH HEIGHT BYTES`
  static func draw(_ words: [String]) throws(BenchFailure) {
    guard let format = Format(rawValue: words[2]), let count = Int(words[3]),
      let width = CInt(words[4]), let height = CInt(words[5]), let bytes = Int(words[6])
    else { throw .usage("draw: bad format or number") }
    var picture = bench_picture(
      format: format.code, width: width, height: height, quality: CInt(usualQuality), seed: 0)
    if bytes > 0 { picture.quality = try quality(of: picture, in: words[1], bytes) }
    for number in 0..<count {
      picture.seed = UInt64(number)
      try write(picture, to: "\(words[1])/\(file(number: number, format))")
    }
  }

  /// The highest quality in which the first picture is no larger.
  private static func quality(
    of picture: bench_picture, in directory: String, _ bytes: Int
  ) throws(BenchFailure) -> CInt {
    let path = "\(directory)/trial"
    var (picture, least, most) = (picture, CInt(1), CInt(100))
    while least < most {
      picture.quality = (least + most + 1) / 2
      try write(picture, to: path)
      let isSmall = (File.read(path)?.count ?? .max) <= bytes
      if isSmall { least = picture.quality } else { most = picture.quality - 1 }
    }
    try File.remove(path)
    return least
  }

  private static func write(_ picture: bench_picture, to path: String) throws(BenchFailure) {
    var picture = picture
    // Both are read before the call returns.
    guard unsafe bench_draw(&picture, path) == 0 else { throw .system("draw", path) }
  }
}
