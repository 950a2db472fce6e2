@testable import ImgdCache
@testable import ImgdText

extension FuzzTarget {
  /// Header fields of an answer: what is kept of them, what they forbid, and the grammar of their values.
  static let fields = FuzzTarget(
    "fields",
    of: [
      "ImgdCache/HTTP/StoredHeaders.swift", "ImgdCache/HTTP/CacheControl.swift", "ImgdText/FieldScanner.swift",
      "ImgdText/StructuredStrings.swift",
    ]
  ) { bytes in
    var choices = Choices(bytes)
    let most = Int(choices.number(UInt8.self)) * 4
    let list = headers(&choices)
    switch bytes.count % 4 {
    case 0: checkKept(list, within: most)
    case 1:
      checkConfirmation(list)
      checkDirectives(list)
    case 2: for (_, value) in list { checkTags(value) }
    default:
      for (_, value) in list {
        checkStrings(value)
        checkMembers(value)
      }
    }
  }

  private static let names = [
    "cache-control", "etag", "vary", "connection", "pragma", "date", "expires", "last-modified", "age", "x-other",
    "content-type", "location", "set-cookie", "warning", "keep-alive", "content-length", "x-ä", "server",
  ]

  /// A field a line, whose first byte chooses the name.
  static func headers(_ choices: inout Choices) -> HeaderList {
    choices.lines().map { line in
      (names[Int(line.utf8.first ?? 0) % names.count], String(line.unicodeScalars.dropFirst()))
    }
  }

  private static func same(_ left: HeaderList, _ right: HeaderList) -> Bool {
    left.elementsEqual(right) { FuzzKit.same($0.name, $1.name) && FuzzKit.same($0.value, $1.value) }
  }

  private static func checkKept(_ list: HeaderList, within most: Int) {
    let kept = StoredHeaders(list)
    expect(same(kept.list, list), "fields are kept byte by byte")
    expect(StoredHeaders(packed: kept.packed)?.kept == kept.kept, "fields survive a file")
    let storable = StoredHeaders.storable(list)
    expect(same(StoredHeaders.storable(storable), storable), "what is stored is all to be stored")
    expect(!storable.contains { ["connection", "set-cookie", "keep-alive"].contains($0.name) }, "none for others")
    let fitting = StoredHeaders.fitting(list, within: most)
    let count = fitting.reduce(0) { $0 + 8 + $1.name.utf8.count + $1.value.utf8.count }
    expect(count <= most, "what fits is within the limit")
    expect(same(StoredHeaders.fitting(fitting, within: most), fitting), "what fits goes on fitting")
    if StoredHeaders.haveRoom(list, within: most) {
      let needed: Set = ["age", "cache-control", "content-type", "date", "etag", "expires", "location", "vary"]
      let wanted = list.filter { needed.contains($0.name) }
      expect(same(fitting.filter { needed.contains($0.name) }, wanted), "with room for them none is left out")
    }
  }

  private static func checkConfirmation(_ list: HeaderList) {
    let half = list.count / 2
    let (own, fresh) = (StoredHeaders(Array(list[..<half])), Array(list[half...]))
    expect(own.areConfirmed(by: own.list), "an answer confirms itself")
    let confirmed = own.confirmed(with: fresh)
    guard own.areConfirmed(by: fresh) else { return expect(same(confirmed, own.list), "another changes nothing") }
    let type = own.list.filter { $0.name == "content-type" }
    expect(same(confirmed.filter { $0.name == "content-type" }, type), "what is about the bytes stays")
    expect(!confirmed.contains { $0.name == "set-cookie" && !own.list.map(\.name).contains($0.name) }, "no cookie")
  }

  /// A further line may forbid more, and nothing less; and it never prolongs anything.
  private static func checkDirectives(_ list: HeaderList) {
    var before = CacheControl([])
    var sent: HeaderList = []
    for field in list where field.name == "cache-control" {
      sent.append(field)
      let control = CacheControl(sent)
      let (had, has) = (forbidden(before), forbidden(control))
      expect(zip(had, has).allSatisfy { !$0 || $1 }, "what is forbidden stays so")
      for (before, now) in zip(lifetimes(before), lifetimes(control)) {
        guard let before else { continue }
        expect(now ?? -1 >= 0 && now ?? .max <= before, "no later line makes a time longer")
      }
      before = control
    }
    let scoped = CredentialSharing(["authorization"])?.admits(list) ?? false
    let opened = CredentialSharing(["cookie"])?.admits(list) ?? false
    expect(!opened || scoped, "what cookies open, Authorization opens as well")
    let closed = list + [("cache-control", "private=\"x, y\"")]
    expect(CredentialSharing(["authorization"])?.admits(closed) == false, "private outweighs every word")
    let names = varyingNames(list)
    expect(names == Set(names).sorted() && names.allSatisfy { $0 == $0.lowercased() }, "names in order, once")
  }

  private static func forbidden(_ control: CacheControl) -> [Bool] {
    [control.noStore, control.noCache, control.isPrivate, control.mustRevalidate, control.proxyRevalidate]
  }

  private static func lifetimes(_ control: CacheControl) -> [Int64?] {
    [control.maxAge, control.sharedMaxAge, control.staleWhileRevalidate, control.staleIfError]
  }

  // MARK: Entity tags

  private static func checkTags(_ value: String) {
    let read = TagList.read(Array(value.utf8))
    for tag in (read ?? []).prefix(3) + [TagList.Tag(opaque: Array("x".utf8), isWeak: false)] {
      let text = (tag.isWeak ? "W/" : "") + "\"\(String(decoding: tag.opaque, as: UTF8.self))\""
      guard let own = EntityTag(text) else { fatalError("a tag is one") }
      expect(own.isIn(value) == read.map { $0.contains { $0.opaque == tag.opaque } }, "a tag is found where it is")
      let strong = read.map { $0.contains { !$0.isWeak && !tag.isWeak && $0.opaque == tag.opaque } }
      expect(own.isStrongly(in: value) == strong, "and so is a strong one")
    }
  }

  /// The lists of RFC 9110, 8.8.3 and 5.6.1, read once more, by states.
  enum TagList {
    struct Tag { let opaque: [UInt8], isWeak: Bool }

    static func read(_ bytes: [UInt8]) -> [Tag]? {
      enum State { case between, inside(weak: Bool, [UInt8]), behind }
      var tags: [Tag] = []
      var state = State.between
      var place = 0
      while place < bytes.count {
        let byte = bytes[place]
        place += 1
        switch state {
        case .between:
          if [0x20, 0x09, 0x2C].contains(byte) { continue }
          let isWeak = byte == 0x57
          if isWeak {
            guard bytes[place...].starts(with: [0x2F, 0x22]) else { return nil }
            place += 2
          } else if byte != 0x22 {
            return nil
          }
          state = .inside(weak: isWeak, [])
        case .inside(let isWeak, let opaque):
          if byte == 0x22 {
            tags.append(Tag(opaque: opaque, isWeak: isWeak))
            state = .behind
          } else if byte <= 0x20 || byte == 0x7F {
            return nil
          } else {
            state = .inside(weak: isWeak, opaque + [byte])
          }
        case .behind:
          if byte == 0x2C { state = .between } else if byte != 0x20, byte != 0x09 { return nil }
        }
      }
      if case .inside = state { return nil }
      return tags
    }
  }

  // MARK: Structured fields and members

  private static func checkStrings(_ value: String) {
    guard let strings = StructuredStrings.list(value) else { return }
    let written = strings.map { text in
      "\"" + text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "\""
    }
    expect(StructuredStrings.list(written.joined(separator: ", ")) == strings, "strings survive being written")
    expect(strings.allSatisfy { $0.utf8.allSatisfy { 0x20...0x7E ~= $0 } }, "strings are printable ASCII")
  }

  private static func checkMembers(_ value: String) {
    let one = normalisedFieldValue(value)
    expect(FuzzKit.same(normalisedFieldValue(one), one), "the one form of a value is its own")
    for name in ["accept", "accept-encoding", "x-other"] {
      let form = normalisedFieldValue([value], of: name)
      expect(FuzzKit.same(normalisedFieldValue([form], of: name), form), "and so it is of a list of preferences")
    }
  }
}
