import ImgdCache
import ImgdText
import ImgdTransfer
import ImgdWire

/// The tags that an origin gives its answer: those of the fields that a section names (`TagFields`), and its groups.
///
/// Whatever an origin sends, it takes little work: of each field so much is read as could be kept with a picture.
struct OriginTags {
  /// As many as any cache of RFC 9875 must take.
  private static let mostGroups = 32

  /// Tags like those of requests, the first ones of more than a request may have.
  private(set) var tags: [String] = []
  /// Nil where the answer says nothing about groups that makes sense.
  private(set) var groups: [String]?

  /// `fields` are names in lower case.
  init(_ head: ResponseHead?, fields: [String]) {
    guard let head else { return }
    for value in fields.lazy.compactMap({ head[$0] }) where tags.count < WireLimits.tags { add(value) }
    guard let value = head["cache-groups"], value.utf8.count <= StoredHeaders.mostKept else { return }
    let names = StructuredStrings.list(value)
    groups = names.map { names in Array(names.lazy.filter(Self.isSound).prefix(Self.mostGroups)) }
  }

  /// All of them, as an entry has them.
  var all: [String] { tags + (groups ?? []).map(EntryTags.tag(ofGroup:)) }

  /// Adds what stands between blanks and commas.
  private mutating func add(_ value: String) {
    let isCut = value.utf8.count > StoredHeaders.mostKept
    let words = value.utf8.prefix(StoredHeaders.mostKept).split { $0 == 0x20 || $0 == 0x09 || $0 == UInt8(ascii: ",") }
    // The last word of a part may be a part of a word.
    for word in words.dropLast(isCut ? 1 : 0) where tags.count < WireLimits.tags {
      let tag = String(decoding: word, as: UTF8.self)
      if Self.isSound(tag), !tags.contains(where: { sameBytes($0, tag) }) { tags.append(tag) }
    }
  }

  /// Whether a request may have it as a tag. Control characters are left out, which no origin means.
  private static func isSound(_ tag: String) -> Bool {
    1...WireLimits.tag ~= tag.utf8.count && tag.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }
}
