// A picture and its forms: what is made of its bytes, what is left of it without them, and how either finds the other.

extension CachedImage {
  /// The forms of the picture that were shown last.
  var forms: [MadeForm] {
    get { header.extras?.forms ?? [] }
    set { changeExtras { $0.forms = newValue } }
  }

  /// The place of a form under its picture; nil for any other image.
  var formPlace: VariantPlace? {
    get { header.extras?.formPlace }
    set { changeExtras { $0.formPlace = newValue } }
  }

  /// The key of the picture that it is a form of, as far as it is known; nil for any other image.
  package var originalKey: CacheKey? {
    guard let formPlace else { return nil }
    let key = CacheKey(url: url, identifier: identifier, variant: formPlace.owner, scope: scope)
    // Earlier releases did not keep the variant.
    return VariantPlace(ofFormOf: key) == formPlace ? key : nil
  }

  /// Whether its bytes go before anything else in its tier.
  var isSource: Bool {
    get { header.isSource }
    set { header.isSource = newValue }
  }

  /// Whether letting its bytes go makes room: few bytes lie in the same piece of memory as its fields.
  var canLoseBody: Bool { header.payload != nil && !isPixels }

  /// The same entry without its bytes, for as long as forms of it are here.
  func withoutBody() -> CachedImage {
    let facts = Self.make(
      key: key, body: ImageBody(away: byteCount, facts: facts, checksum: checksum, description: description),
      answer: ImageAnswer(response, freshness: freshness, vary: vary, isFromPublicAddress: isFromPublicAddress),
      tags: tags, owner: owner, serial: serial, isPurged: isPurged, checked: checked,
      stored: StoredMoment(storedAt, wall: storedAtWall, isDoubtful: header.isTimeDoubtful))
    (facts.forms, facts.file, facts.formerFile) = (forms, file, formerFile)
    facts.lastAccess = lastAccess
    if isStale { facts.markStale() }
    return facts
  }

  /// What was made of the picture's bytes: another picture under another key, with the answer, the age and
  /// the tags of this one. Nobody asks for the checksum of pixels.
  ///
  /// `checked` is the last purge that this picture had been compared with when the making began, and `owner` the user for
  /// whom it was made.
  package func derived(key: CacheKey, body: ImageBody, owner: UInt32? = nil, checked: UInt64) -> CachedImage {
    let form = Self.make(
      key: key, body: body, answer: ImageAnswer(response, freshness: freshness, vary: vary.withoutPlace), tags: tags,
      owner: owner, serial: serial, isPurged: isPurged, checked: checked,
      stored: StoredMoment(storedAt, wall: storedAtWall, isDoubtful: header.isTimeDoubtful))
    form.formPlace = VariantPlace(ofFormOf: self.key)
    return form
  }
}
