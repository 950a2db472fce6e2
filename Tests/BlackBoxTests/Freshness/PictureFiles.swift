import Glibc
import ImgdTestSupport

extension Stage {
  /// How many pictures are files in the cache directory.
  var files: Int { Directory.files(below: daemon.directory + "/cache", endingIn: ".png") }
}

private enum Directory {
  static func files(below path: String, endingIn suffix: String) -> Int {
    guard let directory = opendir(path) else { return 0 }
    defer { closedir(directory) }
    var count = 0
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard !name.hasPrefix(".") else { continue }
      count += name.hasSuffix(suffix) ? 1 : files(below: path + "/" + name, endingIn: suffix)
    }
    return count
  }
}
