import ImgdCache
import ImgdWire

/// Whose pictures are shown to nobody else: all that a user fetches (`Share=own`), or what he has put (`Put=own`).
///
/// Such a picture has its user as its variant. Where fetches share, a fetch looks under the key of its user first, if
/// that user has put anything: a hit of anybody else costs no second look.
final class OwnPictures {
  private let access: Access
  private let pictures: PictureTiers
  /// The users who have put something while this process ran, or have left it in memory before.
  private var users: Set<UInt32> = []
  /// Called when a user is no longer to be shown what is found by a URL alone; set once by the composition.
  var onFirst: (UInt32) -> Void = { _ in }

  init(_ access: Access, in pictures: PictureTiers) {
    self.access = access
    self.pictures = pictures
  }

  /// Whether another user's entry is nothing to a fetch.
  var isForAll: Bool { !access.sharesEntries }

  /// Whether a picture under a URL alone is what a user is shown who asks for that URL.
  func areNone(of uid: UInt32) -> Bool { access.sharesEntries && !mayBePut(by: uid) }

  /// Whether a user has put nothing, so that a fetch needs to look under one key alone.
  func mayBeReady(for uid: UInt32) -> Bool { !access.sharesEntries || !mayBePut(by: uid) }

  private func mayBePut(by uid: UInt32) -> Bool {
    !access.putsForAll && (users.contains(uid) || pictures.disk.mayHaveFormer(ofUserAlone: uid))
  }

  /// Whether what a user puts is for all, as it asks for or as is usual.
  func putIsForAll(_ put: PutRequest, by client: ReplyPlace) throws(WireError) -> Bool {
    guard put.isForAll else { return access.putsForAll && access.sharesEntries }
    guard access.sharesEntries else {
      throw WireError(
        .badRequest,
        "\"for\" was \"all\", but nobody is shown another's pictures here (Control.Share=own): leave it out",
        details: ["field": "for"])
    }
    guard access.putsForAll || access.isAdmin(client.peer) else {
      throw WireError(.forbidden, "only an administrator may put a picture for all: leave \"for\" out")
    }
    return true
  }

  /// Notes that a user has put a picture for himself.
  func note(_ uid: UInt32) { if users.insert(uid).inserted { onFirst(uid) } }

  /// Notes whose an image is that an earlier process has left in memory.
  func inherit(_ image: CachedImage) { if let uid = image.key.soleUser { users.insert(uid) } }

  /// The key of a picture that a user may have put under a URL for himself; nil if there is none, as far as that is known
  /// at once.
  func key(of url: CanonicalURL, for uid: UInt32) -> CacheKey? {
    guard access.sharesEntries, mayBePut(by: uid) else { return nil }
    let key = CacheKey(url: url, variant: KeyVariant(of: uid))
    return pictures.memory.peek(key) != nil || pictures.disk.mayHold(key) ? key : nil
  }

  /// The variant of what clients hand in without a URL.
  func variantOfDescriptors(of uid: UInt32) -> KeyVariant { access.sharesEntries ? .handedIn : KeyVariant(of: uid) }
}
