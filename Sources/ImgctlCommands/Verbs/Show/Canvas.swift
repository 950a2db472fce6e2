import CChafa

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
    let drawing = wanted ?? Self.best(on: screen)
    guard drawing == .kitty || imgctl_open_chafa() != 0 else {
      throw Failure(
        .failed, "pictures as \(drawing.rawValue) need the library libchafa: " + "install the package libchafa0")
    }
    let cell = drawing == .symbols ? Self.symbolCell : screen.cell
    self.drawing = drawing
    cells = screen.cells
    colours = ColourDepth(context.manner.colour, context.environment).value
    room = PixelSize(
      width: min(screen.cells.columns * cell.width, Self.longestSide),
      height: min(screen.cells.rows * cell.height, Self.longestSide))
  }

  private static func best(on screen: Screen) -> DrawingProtocol {
    if screen.hasKittyPictures { return .kitty }
    return screen.hasSixels ? .sixel : .symbols
  }

  /// The text that draws a picture, without the end of its last line.
  func text(of picture: borrowing DecodedPicture) -> [UInt8] {
    switch drawing {
    case .kitty: KittyText.bytes(of: picture)
    case .sixel: ChafaText.sixels(of: picture)
    case .symbols:
      ChafaText.halfBlocks(of: picture, in: Self.cells(for: picture.width, picture.height, within: cells), colours)
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
