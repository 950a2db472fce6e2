internal import ImgdWire

extension FetchRequest {
  /// The request for a picture in the way that a program wants it.
  init(_ url: String, _ options: FetchOptions) {
    self.init(url: url)
    identifier = options.identifier
    cache = wireWord(options.cache)
    delivery = wireWord(options.delivery)
    store = wireWord(options.store)
    priority = wireWord(options.priority)
    extras = FetchExtras(options)
  }
}

extension FetchExtras {
  fileprivate init(_ options: FetchOptions) {
    self.init()
    form = PictureForm(options)
    describe = options.describe
    share = options.share
    tags = options.tags
    // In one order: the same options make the same line.
    headers = options.headers.sorted { $0.key < $1.key }.map {
      RequestHeader(name: $0.key, value: $0.value)
    }
    ttl = options.ttl.map { $0.rounded(to: .seconds(1)) }
    timeoutMilliseconds = options.timeout.map { $0.rounded(to: .milliseconds(1)) }
    maxBytes = options.maxBytes
  }
}

extension PictureForm {
  fileprivate init(_ options: FetchOptions) {
    self.init(
      box: options.resize.map { Box($0) }, format: wireWord(options.format),
      quality: options.quality, frames: wireWord(options.frames))
  }
}

extension PictureForm.Box {
  fileprivate init(_ resize: Resize) {
    self.init(
      width: resize.width, height: resize.height, fit: wireWord(resize.fit),
      crop: wireWord(resize.crop), enlarge: resize.enlarge, linear: resize.linear)
  }
}

/// A choice of the library as the protocol has it: both have the same words.
func wireWord<Choice: RawRepresentable<String>, Word: RawRepresentable<String>>(
  _ choice: Choice
) -> Word {
  guard let word = Word(rawValue: choice.rawValue) else {
    preconditionFailure("the library offers \(choice.rawValue), which the protocol does not have")
  }
  return word
}

extension Duration {
  /// How many of a unit it has, a part of one counted as one.
  func rounded(to unit: Duration) -> Int {
    Int((self / unit).rounded(.up))
  }
}
