import Glibc
import ImgdSystem
import Testing

@testable import ImgctlCommands

/// Thumbnails where the programs of a desktop look for them.
struct DesktopThumbnailTests {
  /// A PNG of one pixel, whose first chunk is 25 bytes long as that of every PNG.
  private static let png: [UInt8] =
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
    + [0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1F, 0x15, 0xC4, 0x89, 0, 0, 0, 0] + Array("IEND".utf8)
    + [0xAE, 0x42, 0x60, 0x82]

  private let files: ScratchDirectory
  private let cache: ScratchDirectory
  private let asked = Locked<[String]>([])

  init() throws {
    files = try ScratchDirectory()
    cache = try ScratchDirectory()
  }

  private func run(_ words: [String], _ daemon: ScriptedDaemon) -> Run {
    imgctl(["thumbnail", "--freedesktop"] + words, daemon, environment: ["XDG_CACHE_HOME": cache.path])
  }

  private func daemon(clients: Int) throws -> ScriptedDaemon {
    try ScriptedDaemon(clients: clients) { [asked] request in
      asked.withLock { $0.append(request) }
      return [.picture(#"{"id":\#(id(request)),"ok":true,"format":"png","fds":[{"kind":"encoded"}]}"#, Self.png)]
    }
  }

  private func removeAll() {
    for directory in ["large", "x-large"] {
      let path = cache.path + "/thumbnails/" + directory
      for entry in (try? Directory(path: path).names()) ?? [] { unlink(path + "/" + entry) }
      rmdir(path)
    }
    rmdir(cache.path + "/thumbnails")
  }

  @Test(arguments: [
    ("", "d41d8cd98f00b204e9800998ecf8427e"), ("abc", "900150983cd24fb0d6963f7d28e17f72"),
    ("file:///home/jens/photos/me.png", "c6ee772d9e49320e97ec29a7eb5b1697"),
    (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
  ])
  func `the digest is MD5`(text: String, digest: String) { #expect(MD5.hexadecimal(of: Array(text.utf8)) == digest) }

  @Test(arguments: [
    ("/a/b.png", "file:///a/b.png"), ("/a/./c/../b", "file:///a/b"), ("/../a", "file:///a"),
    ("/ä b#?%;[x].png", "file:///%C3%A4%20b%23%3F%25%3B%5Bx%5D.png"), ("/a!$&'()*+,:=@_~-", "file:///a!$&'()*+,:=@_~-"),
  ])
  func `a URI is written as GLib writes it`(path: String, uri: String) throws {
    #expect(try DesktopThumbnail.uri(of: path) == uri)
  }

  @Test func `a relative path is below the current directory`() throws {
    let here = try DesktopThumbnail.uri(of: "x")
    #expect(try here == DesktopThumbnail.uri(of: "./y/../x") && here.hasSuffix("/x") && here.utf8.count > 9)
  }

  @Test func `a thumbnail says of which file it is, and is made again only after a change`() throws {
    defer { removeAll() }
    let path = files.make("a b.png")
    let daemon = try daemon(clients: 4)
    let uri = "file://\(files.path)/a%20b.png"
    let thumbnail = "\(cache.path)/thumbnails/large/\(MD5.hexadecimal(of: Array(uri.utf8))).png"
    #expect(run([path], daemon).output == thumbnail + "\n")
    let written = cache.content("thumbnails/large/" + thumbnail.split(separator: "/").last!) ?? []
    #expect(written.prefix(33).elementsEqual(Self.png.prefix(33)))
    #expect(written.suffix(12).elementsEqual(Self.png.suffix(12)))
    let text = String(decoding: written, as: UTF8.self)
    for fact in ["Thumb::URI\0\(uri)", "Thumb::MTime\0", "Thumb::Size\03"] { #expect(text.contains("tEXt" + fact)) }
    #expect(mode(thumbnail) == 0o600 && mode(cache.path + "/thumbnails/large") == 0o700)
    #expect(asked.withLock { $0.count } == 1)
    // Nothing has changed, and the daemon is not asked.
    #expect(run([path], daemon).output == thumbnail + "\n")
    #expect(asked.withLock { $0.count } == 1)
    #expect(run(["--force", path], daemon).exitCode == .done)
    #expect(asked.withLock { $0.count } == 2)
    var times = [timespec(tv_sec: 5, tv_nsec: 0), timespec(tv_sec: 5, tv_nsec: 0)]
    utimensat(AT_FDCWD, path, &times, 0)
    #expect(run([path], daemon).exitCode == .done)
    #expect(asked.withLock { $0.count } == 3)
    #expect(asked.withLock { $0 }.allSatisfy { $0.contains(#""format":"png""#) && $0.contains(#""width":256"#) })
  }

  @Test func `the checksum of a chunk is that of PNG`() throws {
    defer { removeAll() }
    let path = files.make("a.png")
    #expect(run(["-s", "512", path], try daemon(clients: 1)).exitCode == .done)
    let name = try Directory(path: cache.path + "/thumbnails/x-large").names()[0]
    let png = cache.content("thumbnails/x-large/" + name) ?? []
    // Any reader of PNGs refuses a picture with a wrong one.
    #expect(ChunkCheck.areWhole(png))
    #expect(!ChunkCheck.areWhole(png.map { $0 == UInt8(ascii: "T") ? 0 : $0 }))
  }

  @Test func `what is no file, and another size, are refused`() throws {
    defer { removeAll() }
    let url = run(["http://h/a.png"], try daemon(clients: 1))
    #expect(url.messages == "imgctl: http://h/a.png: this is no file: leave out --freedesktop\n")
    for (words, message) in [
      (["-s", "100"], "--size 100 is no size of thumbnails of a desktop: write 128, 256, 512 or 1024"),
      (["--format", "webp"], "--freedesktop makes PNGs: leave out --format"),
      (["-o", "x"], "--freedesktop says where the files go: leave out -o"),
    ] { #expect(imgctl(["thumbnail", "--freedesktop", "/a"] + words).messages == "imgctl: \(message)\n") }
    #expect(imgctl(["thumbnail", "--freedesktop", "/a"]).messages.contains("set HOME or XDG_CACHE_HOME"))
  }

  private func mode(_ path: String) -> mode_t? { OutputFile.status(of: path).map { $0.st_mode & 0o7777 } }
}

/// The checksums of a PNG, by a table of the bits as the standard describes it.
private enum ChunkCheck {
  static func areWhole(_ png: [UInt8]) -> Bool {
    var place = 8
    while place + 12 <= png.count {
      let end = place + 8 + number(png, place)
      guard end + 4 <= png.count, number(png, end) == sum(png[(place + 4)..<end]) else { return false }
      place = end + 4
    }
    return place == png.count
  }

  private static func number(_ bytes: [UInt8], _ start: Int) -> Int {
    bytes[start..<(start + 4)].reduce(0) { $0 << 8 | Int($1) }
  }

  private static func sum(_ bytes: ArraySlice<UInt8>) -> Int {
    var table: [UInt32] = []
    for index in 0..<256 {
      var bits = UInt32(index)
      for _ in 0..<8 { bits = bits & 1 == 1 ? 0xEDB8_8320 ^ (bits >> 1) : bits >> 1 }
      table.append(bits)
    }
    var sum = UInt32.max
    for byte in bytes { sum = table[Int((sum ^ UInt32(byte)) & 0xFF)] ^ (sum >> 8) }
    return Int(~sum)
  }
}
