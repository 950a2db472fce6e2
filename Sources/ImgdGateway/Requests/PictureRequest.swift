internal import ImgdSystem
package import ImgdWire

/// A picture as a request asks for it, whichever form its target has.
package struct PictureRequest: Equatable, Sendable {
  package var url: String
  package var form = PictureForm()
  /// Whether it comes as AVIF or WebP, if the client takes one of them.
  package var negotiatesFormat = false
  /// The end of the target, in seconds since 1970: no cache may answer it later.
  package var expires: Int?

  /// The request to the daemon.
  func fetch(as format: OutputFormat, timeout: Duration) -> FetchRequest {
    var fetch = FetchRequest(url: url)
    fetch.delivery = .fd
    fetch.form = form
    fetch.form.format = format
    fetch.extras.timeoutMilliseconds = Int(timeout.milliseconds)
    return fetch
  }
}
