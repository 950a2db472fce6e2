internal import ImgdWire

extension FetchOptions {
  /// The request for a picture in this way.
  func request(for url: String) -> FetchRequest {
    var fetch = FetchRequest(url: url)
    fetch.identifier = identifier
    fetch.cache = wireWord(cache)
    fetch.delivery = wireWord(delivery)
    fetch.store = wireWord(store)
    fetch.priority = wireWord(priority)
    var extras = FetchExtras()
    extras.form = PictureForm(box: resize?.box, format: wireWord(format), quality: quality, frames: wireWord(frames))
    extras.describe = describe
    extras.share = share
    extras.tags = tags
    // Sorted, so that the same options make the same line.
    extras.headers = headers.sorted { $0.key < $1.key }.map { RequestHeader(name: $0, value: $1) }
    extras.ttl = ttl?.rounded(to: .seconds(1))
    extras.timeoutMilliseconds = timeout?.rounded(to: .milliseconds(1))
    extras.maxBytes = maxBytes
    fetch.extras = extras
    return fetch
  }
}

extension Resize {
  fileprivate var box: PictureForm.Box {
    PictureForm.Box(
      width: width, height: height, fit: wireWord(fit), crop: wireWord(crop), enlarge: enlarge, linear: linear)
  }
}

/// A choice of the library as the protocol has it: both have the same words.
func wireWord<Choice: RawRepresentable<String>, Word: RawRepresentable<String>>(_ choice: Choice) -> Word {
  guard let word = Word(rawValue: choice.rawValue) else {
    preconditionFailure("the library offers \(choice.rawValue), which the protocol does not have")
  }
  return word
}

extension Duration {
  /// The length in a unit, rounded up.
  func rounded(to unit: Duration) -> Int { Int((self / unit).rounded(.up)) }
}
