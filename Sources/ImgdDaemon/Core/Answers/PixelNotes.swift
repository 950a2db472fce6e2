import ImgdDecode
import ImgdWire

/// What has to be known of decoded pixels besides their size, as it is kept with them.
struct PixelNotes {
  let layout: Rendition.Layout
  /// How long each frame is shown, in milliseconds; empty for a single one.
  let delays: [Int]

  init(layout: Rendition.Layout, delays: [Int]) {
    self.layout = layout
    self.delays = delays
  }

  /// The layout in one byte, and the delays in four each. The usual pixels have none, which costs nothing.
  var packed: [UInt8] {
    guard layout != .rgba || !delays.isEmpty else { return [] }
    return [layout.rawValue]
      + delays.flatMap { delay in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: delay >> $0) } }
  }

  init(packed: [UInt8]) {
    layout = packed.first.flatMap { Rendition.Layout(rawValue: $0) } ?? .rgba
    delays = stride(from: 1, to: packed.count, by: 4).map { start in
      packed[start...].prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }
  }

  /// Writes the members of the descriptor's object that tell how the pixels lie in it.
  func write(width: Int, height: Int, to line: inout JSONWriter) {
    line.field("format", (layout == .rgba ? PixelLayout.rgba8 : .bgra8Premultiplied).rawValue)
    line.field("width", width)
    line.field("height", height)
    line.field("stride", width * 4)
    line.field("frames", max(1, delays.count))
    guard !delays.isEmpty else { return }
    line.array("delays_ms") { line in for delay in delays { line.value(delay) } }
  }
}
