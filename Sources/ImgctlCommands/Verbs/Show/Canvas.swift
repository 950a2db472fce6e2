import CChafa
import ImgdConnection
import ImgdSystem
import ImgdWire

/// The ways in which a picture is drawn on a terminal.
enum DrawingProtocol: String { case kitty, sixel, symbols }

/// A part of the screen on which pictures are drawn, all in the same way.
struct Canvas {
  /// Half blocks are drawn from more pixels than they show, so that each shows a mean.
  private static let symbolCell = PixelSize(width: 8, height: 16)
  /// The longest side that the daemon makes.
  private static let longestSide = 65_535

  private let cells: CellSize
  private let drawing: DrawingProtocol
  private let colours: imgctl_colours
  /// The pixels for which there is room: the daemon makes no larger picture.
  let room: PixelSize

  /// Draws in the best way that the screen has, unless another one is wanted.
  init(_ screen: Screen, _ wanted: DrawingProtocol?, _ context: Context) throws(Failure) {
    let drawing = wanted ?? (screen.hasKittyPictures ? .kitty : screen.hasSixels ? .sixel : .symbols)
    guard drawing == .kitty || imgctl_open_chafa() != 0 else {
      throw Failure(.failed, "pictures as \(drawing.rawValue) need the library libchafa: install the package libchafa0")
    }
    let cell = drawing == .symbols ? Self.symbolCell : screen.cell
    self.drawing = drawing
    cells = screen.cells
    colours = Self.colours(context.manner.colour, context.environment)
    room = PixelSize(
      width: min(screen.cells.columns * cell.width, Self.longestSide),
      height: min(screen.cells.rows * cell.height, Self.longestSide))
  }

  /// How many colours a picture is drawn in. For a picture they are not a decoration: it keeps them when its text goes
  /// into a file, too.
  private static func colours(_ wish: Manner.Colour, _ environment: [String: String]) -> imgctl_colours {
    let (terminal, depth) = (environment["TERM"] ?? "", environment["COLORTERM"] ?? "")
    let isPlain = terminal == "dumb" || !(environment["NO_COLOR"] ?? "").isEmpty
    if wish == .never || wish == .auto && isPlain { return IMGCTL_NO_COLOURS }
    if depth == "truecolor" || depth == "24bit" || terminal.hasSuffix("-direct") || terminal == "xterm-kitty" {
      return IMGCTL_MILLIONS_OF_COLOURS
    }
    // Without a name the text goes into a file that is shown on a terminal later.
    return terminal.hasSuffix("-256color") || terminal.isEmpty ? IMGCTL_256_COLOURS : IMGCTL_16_COLOURS
  }

  /// The text that draws a picture, without the end of its last line.
  func text(of picture: borrowing DecodedPicture) -> [UInt8] {
    switch drawing {
    case .kitty: return KittyText.bytes(of: picture)
    case .sixel: return unsafe Self.chafaText(of: picture) { unsafe imgctl_sixels($0) }
    case .symbols:
      let size = Self.cells(for: picture.width, picture.height, within: cells)
      return unsafe Self.chafaText(of: picture) { picture in
        unsafe imgctl_half_blocks(picture, CInt(size.columns), CInt(size.rows), colours)
      }
    }
  }

  /// The text that libchafa makes of a picture; the library is open.
  private static func chafaText(
    of picture: borrowing DecodedPicture, _ draw: (imgctl_picture) -> imgctl_text
  ) -> [UInt8] {
    unsafe picture.withBytes { bytes in
      let lent = unsafe imgctl_picture(
        pixels: bytes.baseAddress, width: CInt(picture.width), height: CInt(picture.height),
        stride: CInt(picture.stride))
      let text = unsafe draw(lent)
      defer { unsafe imgctl_free_text(text) }
      let letters = unsafe UnsafeRawBufferPointer(start: text.bytes, count: text.count)
      return unsafe Array(letters)
    }
  }

  /// The cells that a picture takes as half blocks: as large as there is room for, but at most half a block for each
  /// pixel.
  static func cells(for width: Int, _ height: Int, within limit: CellSize) -> CellSize {
    var (columns, halves) = (width, height)
    if columns > limit.columns { (columns, halves) = (limit.columns, rounded(height * limit.columns, width)) }
    if halves > limit.rows * 2 { (columns, halves) = (rounded(width * limit.rows * 2, height), limit.rows * 2) }
    return CellSize(columns: max(1, columns), rows: max(1, (halves + 1) / 2))
  }

  private static func rounded(_ dividend: Int, _ divisor: Int) -> Int { (dividend + divisor / 2) / divisor }
}

/// A decoded picture in memory that the daemon lends, read where it lies.
struct DecodedPicture: ~Copyable {
  let width: Int
  let height: Int
  /// The bytes from the beginning of one row to the beginning of the next.
  let stride: Int
  private let memory: ReceivedMemory

  init(_ reply: Reply, _ descriptor: consuming FileDescriptor) throws(Failure) {
    guard let fields = reply.objects("fds")?.first, fields.text("format") == "rgba8",
      let width = fields.number("width"), 1...65_535 ~= width, let height = fields.number("height"),
      1...65_535 ~= height, let stride = fields.number("stride"), width * 4...1 << 20 ~= stride
    else { throw Failure(.failed, "the daemon described its pixels in a way unknown to imgctl") }
    do throws(SystemFailure) { memory = try ReceivedMemory(descriptor, count: stride * height) } catch {
      throw Failure(error)
    }
    self.width = width
    self.height = height
    self.stride = stride
  }

  /// Lends the bytes of all rows: red, green, blue and alpha of each pixel.
  func withBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    unsafe body(memory.bytes.assumingMemoryBound(to: UInt8.self))
  }
}

/// The text of kitty's graphics protocol, by which a terminal shows pixels as they are.
enum KittyText {
  /// The longest piece that the protocol allows, a multiple of four letters.
  private static let longest = 4096

  static func bytes(of picture: borrowing DecodedPicture) -> [UInt8] {
    var letters: [UInt8] = []
    append(picture, to: &letters)
    var text: [UInt8] = []
    text.reserveCapacity(letters.count + letters.count / 256 + 64)
    var start = 0
    while start < letters.count {
      let end = min(start + longest, letters.count)
      let more = end < letters.count ? 1 : 0
      // RGBA of this size, to be shown at once, and no answer about it.
      let head = "a=T,f=32,s=\(picture.width),v=\(picture.height),q=2,"
      text += "\u{1b}_G\(start == 0 ? head : "")m=\(more);".utf8
      text += letters[start..<end]
      text += "\u{1b}\\".utf8
      start = end
    }
    return text
  }

  private static func append(_ picture: borrowing DecodedPicture, to letters: inout [UInt8]) {
    let (stride, row, height) = (picture.stride, picture.width * 4, picture.height)
    unsafe picture.withBytes { bytes in
      let bytes = unsafe Span(_unsafeElements: bytes)
      guard stride > row else { return letters.append(base64: bytes.extracting(first: row * height)) }
      // Rows with gaps between them are packed first: base64 goes on from row to row.
      var packed: [UInt8] = []
      packed.reserveCapacity(row * height)
      for start in Swift.stride(from: 0, to: stride * height, by: stride) {
        for index in start..<(start + row) { packed.append(bytes[index]) }
      }
      letters.append(base64: packed.span)
    }
  }
}
