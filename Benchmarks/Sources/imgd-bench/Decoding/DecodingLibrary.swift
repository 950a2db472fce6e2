private import CBench

extension PictureSet {
  /// A library that decodes the pictures one after the other, in one process without a daemon.
  enum Library: String {
    case libvips
    case libjpeg = "libjpeg-turbo"

    fileprivate func decode(_ picture: [UInt8], _ format: Format) -> Bool {
      // The bytes are read before the call returns.
      switch self {
      case .libvips: unsafe bench_decode_by_vips(format.code, picture, picture.count) == 0
      case .libjpeg: unsafe bench_decode_by_libjpeg(picture, picture.count) == 0
      }
    }
  }

  /// Pictures a second; the start of the process and the reading of files are not counted.
  func rate(_ bench: Bench, _ library: Library) throws(BenchFailure) -> Double {
    let log = bench.path("decode.log")
    try Child.finish(
      [Options.own, "decode-files", library.rawValue, format.rawValue] + paths,
      log: log)
    guard let seconds = Double((File.text(log) ?? "").prefix { !$0.isNewline }) else {
      throw .unavailable("\(library.rawValue) told no time: \(File.text(log) ?? "")")
    }
    return Double(paths.count) / seconds
  }

  /// `decode-files LIBRARY FORMAT FILE…`: prints how many seconds it took to decode all of them.
  static func decode(_ words: [String]) throws(BenchFailure) {
    guard let library = Library(rawValue: words[1]), let format = Format(rawValue: words[2]) else {
      throw .usage("decode-files: bad library or format")
    }
    let pictures = words[3...].compactMap { File.read($0) }
    // The first one also makes the library ready.
    guard let first = pictures.first, library.decode(first, format) else {
      throw .unavailable("\(library.rawValue) cannot decode \(words[3])")
    }
    let start = now()
    for picture in pictures {
      guard library.decode(picture, format) else { throw .system("decode", library.rawValue) }
    }
    Output.say("\(now() - start)")
  }
}
