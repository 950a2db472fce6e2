import ImgdTestSupport
import Testing

/// The daemon links the Swift runtime and the libraries of the machine, and no Foundation.
struct LinkageTests {
  /// The compiler adds libdispatch to what it builds for a sanitizer.
  private static let unwanted =
    ["Foundation", "libicu", "FoundationEssentials"] + (Sanitizer.isOn ? [] : ["libdispatch"])

  @Test func `the program does not link Foundation`() throws {
    let bytes = try #require(readBytes(BuiltProduct.path(of: "imgd")))
    let needed = try #require(ELFFile(bytes)).neededLibraries
    #expect(needed.contains { $0.hasPrefix("libc.so") })
    for name in Self.unwanted { #expect(!needed.contains { $0.contains(name) }, "\(needed)") }
  }

  /// It starts where they are not installed, and no bug of theirs is one of the daemon's.
  @Test func `libraries that decode are the decoder's alone`() throws {
    let bytes = try #require(readBytes(BuiltProduct.path(of: "imgd")))
    let needed = try #require(ELFFile(bytes)).neededLibraries
    for name in ["libvips", "rsvg", "cairo", "glib", "gobject", "jpeg", "seccomp"] {
      #expect(!needed.contains { $0.contains(name) }, "\(needed)")
    }
  }

  @Test func `the process does not load Foundation`() throws {
    let daemon = try DaemonProcess()
    let maps = try #require(read("/proc/\(daemon.pid)/maps"))
    #expect(maps.contains("libc.so"))
    for name in ["libFoundation", "lib_Foundation"] { #expect(!maps.contains(name)) }
  }
}

/// As much of a 64-bit ELF file as its dynamic section needs.
private struct ELFFile {
  private let bytes: [UInt8]

  init?(_ bytes: [UInt8]) {
    guard bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]) else { return nil }
    self.bytes = bytes
  }

  /// The names in the DT_NEEDED entries.
  var neededLibraries: [String] {
    guard let dynamic = segments.first(where: { $0.type == 2 }) else { return [] }
    let entries = stride(from: dynamic.offset, to: dynamic.offset + dynamic.size, by: 16)
      .map { (tag: number(at: $0, 8), value: number(at: $0 + 8, 8)) }
    guard let strings = entries.first(where: { $0.tag == 5 }).flatMap({ place(of: $0.value) })
    else { return [] }
    return entries.filter { $0.tag == 1 }.map { text(at: strings + $0.value) }
  }

  private struct Segment {
    let type: Int
    let offset: Int
    let address: Int
    let size: Int
  }

  private var segments: [Segment] {
    let start = number(at: 32, 8)
    let size = number(at: 54, 2)
    return (0..<number(at: 56, 2)).map { index in
      let header = start + index * size
      return Segment(
        type: number(at: header, 4), offset: number(at: header + 8, 8),
        address: number(at: header + 16, 8), size: number(at: header + 32, 8))
    }
  }

  private func place(of address: Int) -> Int? {
    segments.first { $0.type == 1 && $0.address..<($0.address + $0.size) ~= address }
      .map { address - $0.address + $0.offset }
  }

  private func number(at offset: Int, _ width: Int) -> Int {
    bytes[offset..<(offset + width)].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  private func text(at offset: Int) -> String {
    String(decoding: bytes[offset...].prefix { $0 != 0 }, as: UTF8.self)
  }
}
