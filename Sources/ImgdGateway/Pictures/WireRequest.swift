internal import ImgdSystem
internal import ImgdWire

extension PictureRequest {
  /// The request to the daemon; `format` takes the place of `auto`.
  func fetch(format: Format, timeout: Duration) -> FetchRequest {
    var fetch = FetchRequest(url: url)
    fetch.delivery = .fd
    fetch.format = OutputFormat(rawValue: format.rawValue) ?? .original
    fetch.extras.resize = resize
    fetch.extras.quality = quality
    fetch.extras.timeoutMilliseconds = Int(timeout.milliseconds)
    return fetch
  }

  private var resize: ResizeRequest? {
    guard width != nil || height != nil else { return nil }
    return ResizeRequest(
      width: width, height: height, fit: ResizeRequest.Fit(rawValue: fit.rawValue) ?? .contain,
      enlarge: enlarge, crop: ResizeRequest.Crop(rawValue: crop.rawValue) ?? .centre)
  }
}
