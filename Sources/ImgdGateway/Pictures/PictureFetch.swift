internal import ImgdConnection
internal import ImgdWire

/// One request for a picture, until it has its answer or its client has gone.
final class PictureFetch {
  let request: PictureRequest
  let exchange: any HTTPExchange
  /// The share of the decoders that pays for it; nil for the share of all requests that name none.
  let share: String?
  private(set) var hasEnded = false
  /// Its request to the daemon.
  var call: DaemonCall?

  init(_ request: PictureRequest, for exchange: any HTTPExchange, share: String?) {
    self.request = request
    self.exchange = exchange
    self.share = share
  }

  /// Whether the answer depends on the formats that the client takes.
  var varies: Bool { request.negotiatesFormat }

  /// Fields of all its answers.
  var ownFields: PictureHeaders.Fields { varies ? [("Vary", "Accept")] : [] }

  /// Whether it may get a part of the picture, which only GET defines.
  var mayWantPart: Bool { exchange.method == .get && !exchange.fields("Range").isEmpty }

  /// The format for its client.
  func choice(of encoders: Set<String>) -> OutputFormat {
    AcceptedFormats(exchange.fields("Accept")).choice(of: encoders) ?? .original
  }

  /// Ends the request early; a fetch that the daemon has not answered is cancelled there.
  func letGo() {
    guard !hasEnded else { return }
    hasEnded = true
    exchange.onLeave = nil
    call.take()?.cancel()
  }
}
