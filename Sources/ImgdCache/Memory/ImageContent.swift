package import ImgdSystem

// What lies behind an image's fields: its URL, its header fields, and its bytes if they are few.

extension CachedImage {
  /// Writes what lies behind the fields, once.
  func fill(_ url: CanonicalURL, _ headers: StoredHeaders, _ payload: Payload?) {
    let count = contentCount
    // The image was made with room for all of it, and nobody reads it before it is written.
    unsafe withUnsafeMutablePointerToElements { elements in
      let room = unsafe UnsafeMutableBufferPointer(start: elements, count: count)
      var end = unsafe room.update(fromContentsOf: url.text.utf8)
      end = unsafe room[end...].update(fromContentsOf: headers.kept)
      payload?.withBytes { bytes in
        unsafe bytes.withUnsafeBufferPointer { bytes in end = unsafe room[end...].update(fromContentsOf: bytes) }
      }
      precondition(end == count, "all that lies behind an image is written")
    }
  }

  private var urlEnd: Int { Int(header.urlCount) }
  private var headersEnd: Int { urlEnd + Int(header.headerCount) }
  private var contentCount: Int { headersEnd + Int(header.bodyCount) }

  /// Lends some of what lies behind the fields for the duration of the call.
  @inline(__always) private func withContent<R, E: Error>(_ range: Range<Int>, _ body: (Span<UInt8>) throws(E) -> R)
    throws(E) -> R
  {
    // The content was written when the image was made, and does not change.
    try unsafe withUnsafeMutablePointerToElements { (elements) throws(E) -> R in
      let content = unsafe UnsafeBufferPointer(start: elements, count: range.upperBound)
      return try body(unsafe content.span.extracting(range))
    }
  }

  // MARK: Its key

  /// Lends the bytes of the URL for the duration of the call.
  @inline(__always) func withURL<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    try withContent(0..<urlEnd, body)
  }

  /// The URL in its one form; each call makes a new text.
  package var url: CanonicalURL {
    CanonicalURL(canonical: withURL { unsafe $0.withUnsafeBufferPointer(String.init(ascii:)) })
  }

  /// The key, put together anew for each call.
  package var key: CacheKey { CacheKey(url: url, header.extras?.distinction, digest) }

  package var identifier: String? { header.extras?.distinction?.identifier }
  var variant: KeyVariant? { header.extras?.distinction?.variant }
  /// The user and the credentials that it was fetched with; nil for a public image.
  var scope: CredentialScope? { header.extras?.distinction?.scope }
  /// The name of its files; nil with credentials.
  package var digest: KeyDigest? { scope == nil ? header.digest : nil }

  /// Whether its key is this URL and nothing else.
  @inline(__always) func isPlain(_ url: Span<UInt8>) -> Bool { header.extras?.distinction == nil && isOf(url) }

  /// Whether it has this URL, whatever else is in its key.
  @inline(__always) func isOf(_ url: Span<UInt8>) -> Bool { withURL { sameBytes($0, url) } }

  /// Whether it has this URL, given as a text, whatever else is in its key.
  package func isOf(_ url: String) -> Bool { isOf(url.utf8.span) }

  /// Whether the URL begins with a text.
  func begins(with prefix: String) -> Bool { withURL { ImgdCache.begins($0, with: prefix) } }

  /// Compares its key with the separate parts of one; `identifier` is not empty.
  func matches(_ url: String, identifier: String?, variant: KeyVariant?, scope: CredentialScope?) -> Bool {
    isOf(url.utf8.span)
      && KeyDistinction.matches(header.extras?.distinction, identifier: identifier, variant: variant, scope: scope)
  }

  /// Whether another image has the same key.
  func hasKey(of other: CachedImage) -> Bool {
    other.withURL { isOf($0) }
      && KeyDistinction.matches(
        header.extras?.distinction, identifier: other.identifier, variant: other.variant, scope: other.scope)
  }

  // MARK: The answer

  /// The answer of its origin, put together anew for each call.
  package var response: StoredResponse {
    let kept = withContent(urlEnd..<headersEnd) { bytes in unsafe bytes.withUnsafeBufferPointer { unsafe [UInt8]($0) } }
    return StoredResponse(status: Int(header.status), kept: StoredHeaders(kept: kept), redirectTarget: redirectTarget)
  }

  /// The URL that it redirects to; nil for any other answer.
  package var redirectTarget: String? { header.extras?.redirectTarget }

  // MARK: The picture

  /// How many bytes the picture has.
  package var byteCount: Int { header.payload?.count ?? Int(header.bodyCount) }

  /// Lends the picture's bytes for the duration of the call.
  package func withBytes<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    guard let payload = header.payload else { return try withContent(headersEnd..<contentCount, body) }
    return try payload.withBytes(body)
  }

  /// The picture's bytes; a copy where they lie behind the fields.
  package internal(set) var payload: Payload {
    get {
      header.payload ?? Payload(withBytes { bytes in unsafe bytes.withUnsafeBufferPointer { unsafe [UInt8]($0) } })
    }
    set { header.payload = newValue }
  }

  /// Whether the bytes are in a memfd.
  var isShareable: Bool { header.payload?.isShareable ?? false }
}

extension String {
  /// Makes a text from bytes that are all ASCII.
  fileprivate init(ascii bytes: UnsafeBufferPointer<UInt8>) { self = unsafe String(decoding: bytes, as: UTF8.self) }
}
