internal import ImgdConnection

// Fields that are as by default are left out: so the daemon answers most hits without parsing.

extension RequestLine {
  /// The request for a picture, without its id and its receipt.
  init(fetching url: String, _ options: FetchOptions) {
    self.init("fetch")
    add("url", url)
    add("identifier", options.identifier)
    addChoice("cache", options.cache, .default)
    addChoice("deliver", options.delivery, .path)
    addChoice("store", options.store, .all)
    addChoice("format", options.format, .original)
    addChoice("frames", options.frames, .all)
    addChoice("priority", options.priority, .normal)
    add("quality", options.quality)
    add("share", options.share)
    if options.describe { add("describe", true) }
    if let resize = options.resize { addObject("resize") { $0.addFields(of: resize) } }
    if !options.tags.isEmpty { add("tags", options.tags) }
    if !options.headers.isEmpty {
      // In one order: the same options make the same line.
      add("headers", options.headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }
    add("ttl", options.ttl.map { $0.rounded(to: .seconds(1)) })
    add("timeout_ms", options.timeout.map { $0.rounded(to: .milliseconds(1)) })
    add("max_bytes", options.maxBytes)
  }

  private mutating func addFields(of resize: Resize) {
    add("width", resize.width)
    add("height", resize.height)
    addChoice("fit", resize.fit, .contain)
    addChoice("crop", resize.crop, .centre)
    if resize.enlarge { add("enlarge", true) }
    if resize.linear { add("linear", true) }
  }

  private mutating func addChoice<Choice: RawRepresentable<String> & Equatable>(
    _ field: String, _ choice: Choice, _ usual: Choice
  ) {
    if choice != usual { add(field, choice.rawValue) }
  }
}

extension Duration {
  /// How many of a unit it has, a part of one counted as one.
  func rounded(to unit: Duration) -> Int {
    Int((self / unit).rounded(.up))
  }
}
