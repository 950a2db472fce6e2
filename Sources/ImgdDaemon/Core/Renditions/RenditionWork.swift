import ImgdCache
import ImgdDecode
import ImgdWire

/// A rendition that is being looked for or made, and all who wait for it.
final class RenditionWork {
  struct Place {
    let work: RenditionWork
    let claim: DecodeClaim
    fileprivate let number: UInt64
  }

  let key: CacheKey
  /// Tells it from others under way: what is made of another form is not for those who have the picture's own bytes.
  let id: CacheKey
  let rendition: Rendition
  let original: CachedImage
  /// The picture whose bytes the decoder gets: the original, or a form of it; and what is ordered of these.
  let source: CachedImage
  let ordered: Rendition
  /// The claimant for whom the picture's bytes are held: the first that asked.
  let holder: Claimant
  let serial: UInt64
  /// The last purge that the original was compared with when this began.
  let checked: UInt64
  /// The tiers in which any of those who ask wants it kept.
  private(set) var tiers: Tiers = []
  /// What any of them allows with the fleet.
  private(set) var sharing = Renditions.Sharing.none
  /// Why no decoder will make it: then it is looked for, and nothing else.
  let refusal: DecodeFailure?
  /// Its look in the fleet, until what it has claimed is stored or given back.
  var look: FormLook?
  /// False once it has ended or was given up.
  var isUnderWay = true
  /// Whether it has been ordered from a decoder.
  var isBegun = false
  private var waiting = Roll<Waiter>()

  private struct Waiter {
    let claim: DecodeClaim
    let then: (Renditions.Outcome) -> Void
  }

  init(_ key: CacheKey, id: CacheKey, _ order: Renditions.Order, refusal: DecodeFailure?, serial: UInt64) {
    self.key = key
    self.refusal = refusal
    self.id = id
    rendition = order.rendition
    original = order.original
    source = order.source
    ordered = order.form?.rendition ?? rendition
    holder = order.claim.claimant
    self.serial = serial
    checked = order.original.checked
  }

  var isIdle: Bool { waiting.isEmpty }

  var claims: [DecodeClaim: Int] { waiting.reduce(into: [:]) { $0[$1.claim, default: 0] += 1 } }

  func join(_ order: Renditions.Order, _ then: @escaping (Renditions.Outcome) -> Void) -> Place {
    tiers.formUnion(order.tiers)
    sharing = max(sharing, order.sharing)
    let number = waiting.append(Waiter(claim: order.claim, then: then))
    return Place(work: self, claim: order.claim, number: number)
  }

  func leave(_ place: Place) { waiting.remove(place.number) }

  /// Tells some of those that wait, the oldest first; returns whether there are more. Nobody joins any more.
  func tellSome(_ outcome: Renditions.Outcome) -> Bool {
    for _ in 0..<Turns.waitersAtOnce {
      guard let waiter = waiting.removeOldest() else { return false }
      waiter.then(outcome)
    }
    return !waiting.isEmpty
  }
}

/// The bytes of the pictures that a decoder has or will have: held in memory until then, whatever leaves the tiers.
///
/// Downloads bring pictures faster than decoders take them. A user may have a share of the limit (`Access`). The last
/// eighth of that is for those who hold little: there, after its first picture, a share of a connection may hold no
/// more than it then leaves to others, so that one address behind the gateway does not keep out the pictures of all
/// others. A picture of which a share wants several forms is held once, and counts once.
struct WaitingPictures {
  static let mostBytes = 256 << 20

  /// A picture that is held for one share.
  private struct Holding: Hashable {
    let claimant: Claimant
    let picture: ObjectIdentifier
  }

  private(set) var bytes = 0
  private var users: [UInt32: Int] = [:]
  private var shares: [Claimant: Int] = [:]
  private var forms: [Holding: Int] = [:]
  private let access: Access

  init(_ access: Access) { self.access = access }

  /// Why a picture may not wait; nil if it may. The first picture of a user always may.
  func refusal(of picture: CachedImage, by claimant: Claimant) -> DecodeFailure? {
    let holding = Holding(claimant: claimant, picture: ObjectIdentifier(picture))
    let (user, share) = (users[claimant.uid, default: 0], shares[claimant, default: 0])
    guard user > 0, forms[holding] == nil else { return nil }
    let count = picture.byteCount
    let limit = access.share(of: claimant.uid, in: Self.mostBytes)
    let left = min(limit - user, Self.mostBytes - bytes) - count
    if left < 0 { return refusal(user, of: limit) }
    guard left < limit / 8, share > 0, share + count > left else { return nil }
    return refusal(share, of: max(share, left))
  }

  private func refusal(_ held: Int, of limit: Int) -> DecodeFailure {
    DecodeFailure(
      .queueFull,
      "pictures of \(held >> 20) MB wait for a decoder, which is about the limit of \(limit >> 20) MB: "
        + "the picture is cached, ask again in a moment")
  }

  mutating func hold(_ picture: CachedImage, by claimant: Claimant) {
    let holding = Holding(claimant: claimant, picture: ObjectIdentifier(picture))
    forms[holding, default: 0] += 1
    if forms[holding] == 1 { change(picture.byteCount, claimant) }
  }

  mutating func release(_ picture: CachedImage, by claimant: Claimant) {
    let holding = Holding(claimant: claimant, picture: ObjectIdentifier(picture))
    forms.countDown(holding)
    if forms[holding] == nil { change(-picture.byteCount, claimant) }
  }

  private mutating func change(_ count: Int, _ claimant: Claimant) {
    bytes += count
    users.countDown(claimant.uid, by: -count)
    shares.countDown(claimant, by: -count)
  }
}
