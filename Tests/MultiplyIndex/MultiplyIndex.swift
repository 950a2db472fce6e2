// Has a cache directory hold many pictures without fetching them: copies of the one that was stored first, under
// other names. No daemon may be using the directory.
//
//     multiply-index CACHE COUNT rows|files
//
// Copies are added until there are COUNT entries. With `files` each gets a file with the bytes of the first
// picture; with `rows` it has none, which is enough where nobody asks for it.

import Glibc

@main struct MultiplyIndex {
  private static let usage = "usage: multiply-index CACHE COUNT rows|files"

  static func main() {
    let words = CommandLine.arguments.dropFirst()
    guard words.count == 3, let cache = words.first, let form = words.last,
      let count = Int(words[words.startIndex + 1]), ["rows", "files"].contains(form)
    else { fail(usage, EX_USAGE) }
    do {
      try IndexGrowth(of: cache).grow(to: count, withFiles: form == "files")
    } catch {
      fail("multiply-index: \(error)", EX_UNAVAILABLE)
    }
  }

  private static func fail(_ reason: String, _ code: CInt) -> Never {
    let line = reason + "\n"
    write(STDERR_FILENO, line, line.utf8.count)
    exit(code)
  }
}
