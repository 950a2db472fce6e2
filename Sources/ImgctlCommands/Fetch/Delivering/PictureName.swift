// A URL is untrusted text, so a file name that is made from it has to be harmless. Only the last part of
// the path counts. Its percent escapes are decoded once, and every character that has a meaning for a
// shell, a terminal or a file system becomes an underscore. The result has no slash, begins with neither
// dot nor dash, and leaves room for a number and an extension.

import ImgdText

/// File names for pictures, made from their URLs.
enum PictureName {
  /// File systems allow 255 bytes; the rest is for a number, an extension and a temporary suffix.
  private static let longest = 180

  private static let extensions: Set<String> = [
    "jpg", "jpeg", "jpe", "jfif", "png", "apng", "gif", "webp", "avif", "heic", "heif", "tif", "tiff", "bmp", "ico",
    "jxl", "jp2", "jpx", "svg",
  ]

  static func pathExtension(format: String) -> String {
    if format == "jpeg" { return "jpg" }
    return extensions.contains(format) ? format : "img"
  }

  /// The format that the ending of a path stands for, by the daemon's name for it; nil if no picture has that ending.
  static func kind(ofFile path: String) -> String? {
    let name = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last
    guard let name, let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex,
      let ending = String(name[name.index(after: dot)...])?.lowercased(), extensions.contains(ending)
    else { return nil }
    return kind(ending)
  }

  /// One name for all spellings of a format or an ending.
  static func kind(_ ending: String) -> String {
    switch ending {
    case "jpg", "jpe", "jfif": "jpeg"
    case "apng": "png"
    case "tif": "tiff"
    case "heif": "heic"
    case "jpx": "jp2"
    default: ending
    }
  }

  /// The name for one URL, without extension.
  static func stem(of url: String) -> String {
    let location = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    let parts = withoutScheme(location).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let last = parts.count > 1 ? parts.last : nil
    let name = withoutExtension(harmless(PercentEncoding.decoded(last ?? [])))
    if !name.isEmpty { return name }
    let host = harmless(Array(parts.first ?? []))
    return host.isEmpty ? "picture" : host
  }

  /// The name for one file, without extension.
  static func stem(ofFile path: String) -> String {
    let name = path.utf8.split(separator: UInt8(ascii: "/")).last.map { withoutExtension(harmless(Array($0))) } ?? ""
    return name.isEmpty ? "picture" : name
  }

  private static func withoutScheme(_ location: Substring.UTF8View) -> ArraySlice<UInt8> {
    let bytes = Array(location)
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[(colon + 1)...].starts(with: "//".utf8) else {
      return bytes[...]
    }
    return bytes[(colon + 3)...]
  }

  private static func harmless(_ bytes: [UInt8]) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return harmless(bytes.map { $0 < 0x80 ? $0 : UInt8(ascii: "_") })
    }
    var name = ""
    for scalar in text.unicodeScalars {
      let next = isHarmless(scalar) ? Character(scalar) : "_"
      guard name.utf8.count + next.utf8.count <= longest else { break }
      name.append(next)
    }
    if name.hasPrefix(".") || name.hasPrefix("-") { name = "_" + name.dropFirst() }
    return name
  }

  /// Letters of every script, ASCII digits and a few signs, but no marks that change the direction of text.
  private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", ".", "-", "_", "+", "=", "@", ",", "~": true
    default: scalar.value >= 0xA0 && scalar.properties.isAlphabetic
    }
  }

  private static func withoutExtension(_ name: String) -> String {
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex,
      extensions.contains(name[name.index(after: dot)...].lowercased())
    else { return name }
    return String(name[..<dot])
  }
}

/// Gives each URL and file of a run a file name of its own, without extension: the second `a` becomes `a-2`.
struct PictureNames {
  /// The hashes of the names given out, since a list may have millions. A name with the hash of another gets a number.
  private var taken: Set<Int> = []
  private var numbers: [Int: Int] = [:]

  mutating func name(for subject: String, isFile: Bool = false) -> String {
    let wanted = isFile ? PictureName.stem(ofFile: subject) : PictureName.stem(of: subject)
    var name = wanted
    while !taken.insert(name.hashValue).inserted {
      // Counting continues where it stopped, so a thousand equal names need a thousand steps.
      let number = numbers[wanted.hashValue, default: 1] + 1
      numbers[wanted.hashValue] = number
      name = "\(wanted)-\(number)"
    }
    return name
  }
}
