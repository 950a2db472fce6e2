internal import ImgdConnection
internal import ImgdSystem

extension PictureRequest {
  /// The request to the daemon, without what is as it is by itself; `format` takes the place of `auto`.
  func line(format: Format, timeout: Duration) -> RequestLine {
    var line = RequestLine("fetch")
    line.add("url", url)
    line.add("deliver", "fd")
    if width != nil || height != nil { line.addObject("resize", addSize) }
    if format != .original { line.add("format", format.rawValue) }
    line.add("quality", quality)
    line.add("timeout_ms", Int(timeout.milliseconds))
    return line
  }

  private func addSize(to line: inout RequestLine) {
    line.add("width", width)
    line.add("height", height)
    if fit != .contain { line.add("fit", fit.rawValue) }
    if crop != .centre { line.add("crop", crop.rawValue) }
    if enlarge { line.add("enlarge", true) }
  }
}
