// Other forms of pictures: found in the tiers, or made by a decoder, once for all who ask.
//
//   original, form ─► key ─► memory? ─► known as bad? ─► within the limits? ─► disk? ─► in a fleet? ─► a decoder
//                                                                                                        │
//                                      all who wait ◄── kept as an entry of its own, if the original may be ◄─┘
//
// What cannot be made here, since no decoder writes it or too much waits for one, is looked for all the same: another
// host may have made it.
//
// A rendition is looked for under an original that may be shown now, and its key contains the checksum of the
// original's bytes: it needs no freshness of its own. It may outlive these bytes, and never what is known of them.

import ImgdCache
import ImgdDecode
import ImgdFleet
import ImgdPicture
import ImgdSystem
import ImgdWire

final class Renditions {
  typealias Outcome = Result<DeliveredImage.Form, DecodeFailure>

  /// As many bytes as a checksum covers in a few microseconds.
  private static let mostSummedAtOnce = 64 << 10

  private let decoding: any Decoding
  private let pictures: PictureTiers
  private let made: MadePictures
  private let fleet: FleetTier
  private let turns: Turns
  private let loop: EventLoop
  private var limits: DecodeLimits
  private var underWay: [CacheKey: RenditionWork] = [:]
  var bad = BadPictures()
  private var waiting: WaitingPictures
  /// The bytes of the pictures whose forms are only looked for.
  private var refusedBytes = 0
  private static let mostRefusedBytes = 64 << 20
  /// Whether the last order ended since there is no decoder: other hosts do not wait for this one then.
  private var isWithoutDecoder = false
  private var lastSerial: UInt64 = 0

  init(
    decoding: any Decoding, pictures: PictureTiers, made: MadePictures, fleet: FleetTier, _ access: Access,
    turns: Turns,
    loop: EventLoop, settings: Configuration
  ) {
    self.decoding = decoding
    self.pictures = pictures
    self.made = made
    self.fleet = fleet
    waiting = WaitingPictures(access)
    self.turns = turns
    self.loop = loop
    limits = DecodeLimits(settings.decode)
  }

  func apply(_ settings: Configuration) {
    limits = DecodeLimits(settings.decode)
    bad.forget()
  }

  var figures: DecodingFigures { decoding.figures }

  /// The formats that decoders write here; nil as long as that is unknown.
  var writable: Set<PictureFormat>? { decoding.writable }

  /// The bytes of the pictures of which renditions are being made.
  var heldBytes: Int { waiting.bytes + refusedBytes }

  /// What may be done with the fleet for a rendition.
  enum Sharing: Int, Comparable {
    case none
    /// It may be looked for there.
    case reading
    /// It may be kept there as well.
    case keeping

    static func < (left: Sharing, right: Sharing) -> Bool { left.rawValue < right.rawValue }
  }

  struct Order {
    let rendition: Rendition
    let original: CachedImage
    /// The form of the original that it is made of, where the original has no bytes.
    var form: DeliveredImage.SourceForm?
    let claim: DecodeClaim
    /// The tiers that may keep it.
    let tiers: Tiers
    /// Whether one that was made before counts as used.
    let countsAsUse: Bool
    var sharing = Sharing.none
    /// Why no decoder is to make it; it may have been made all the same.
    var refusal: DecodeFailure?

    var source: CachedImage { form?.image ?? original }
  }

  /// Finds or makes a rendition; `then` is called once, immediately or later, unless the place is given up.
  @discardableResult func make(_ order: Order, then: @escaping (Outcome) -> Void) -> RenditionWork.Place? {
    let (original, rendition) = (order.original, order.rendition)
    let key = original.key.made(of: original.checksum, form: rendition.form)
    if let image = made.inMemory(key, countsAsUse: order.countsAsUse) {
      made.keepOnDisk(image, in: order.tiers)
      pictures.keepPlace(of: image, as: rendition.form, with: original)
      then(.success(DeliveredImage.Form(image: image, source: .memory)))
      return nil
    }
    let id = order.form == nil ? key : order.source.key.made(of: order.source.checksum, form: rendition.form)
    if let work = underWay[id] {
      // It is made when the turn of the first who waits comes.
      if work.isBegun { decoding.join(serial: work.serial, order.claim) }
      return work.join(order, then)
    }
    // What this host refuses to show is not shown because another has made it.
    if let failure = refusal(of: order) {
      then(.failure(failure))
      return nil
    }
    let refusal = order.refusal ?? waiting.refusal(of: order.source, by: order.claim.claimant)
    if let refusal, !mayBeElsewhere(order) {
      then(.failure(refusal))
      return nil
    }
    lastSerial += 1
    let work = RenditionWork(key, id: id, order, refusal: refusal, serial: lastSerial)
    hold(work)
    let place = work.join(order, then)
    look(for: work, countsAsUse: order.countsAsUse)
    return place
  }

  /// Makes the placeholder of a picture, and keeps it with the picture.
  @discardableResult func describe(_ order: Order, then: @escaping (Placeholder) -> Void) -> RenditionWork.Place? {
    if let description = PictureDescription(packed: order.original.description) {
      then(.description(description))
      return nil
    }
    return make(order) { outcome in
      switch outcome {
      case .success(let made):
        guard let description = PictureDescription(packed: made.image.description) else {
          return then(.failure(DecodeFailure(.damaged, "the decoder made nothing of it")))
        }
        then(.description(description))
      case .failure(let failure): then(.failure(failure))
      }
    }
  }

  /// Leaves a rendition to those that still wait for it; if there are none, it is given up.
  func leave(_ place: RenditionWork.Place) {
    let work = place.work
    work.leave(place)
    guard work.isUnderWay else { return }
    guard work.isIdle else {
      if work.isBegun { decoding.leave(serial: work.serial, place.claim) }
      return
    }
    forget(work)
    decoding.abort(serial: work.serial)
  }

  /// Nobody joins what is only looked for: it may not be refused to others.
  private func hold(_ work: RenditionWork) {
    guard work.refusal == nil else { return refusedBytes += work.source.byteCount }
    underWay[work.id] = work
    waiting.hold(work.source, by: work.holder)
  }

  private func forget(_ work: RenditionWork) {
    work.isUnderWay = false
    if let look = work.look.take() { fleet.giveUp(look) }
    guard work.refusal == nil else { return refusedBytes -= work.source.byteCount }
    underWay[work.id] = nil
    waiting.release(work.source, by: work.holder)
  }

  private func look(for work: RenditionWork, countsAsUse: Bool) {
    guard work.rendition.isFile else { return begin(work) }
    let then = { [unowned self] (image: CachedImage?) in
      guard work.isUnderWay else { return }
      guard let image else { return askFleet(for: work) }
      pictures.keepPlace(of: image, as: work.rendition.form, with: work.original)
      end(work, .success(DeliveredImage.Form(image: image, source: .disk)))
    }
    made.onDisk(work.key, keepingIn: work.tiers, countsAsUse: countsAsUse, then: then).passOn(to: then)
  }

  /// Whether another host may have made what cannot be made here.
  private func mayBeElsewhere(_ order: Order) -> Bool {
    order.sharing != .none && order.rendition.isFile && fleet.mayHaveForms(of: order.original)
      && refusedBytes + order.source.byteCount <= Self.mostRefusedBytes
  }

  private func askFleet(for work: RenditionWork) {
    guard work.sharing != .none, !isPurged(work) else { return makeOrRefuse(work) }
    work.look = fleet.lookUp(
      work.key, of: work.original, claims: work.sharing == .keeping && mayMake(work),
      accept: { [unowned self] in image(of: $0, $1, for: work) },
      then: { [unowned self] image in
        guard work.isUnderWay else { return }
        guard let image else { return makeOrRefuse(work) }
        keepHere(image, for: work)
        end(work, .success(DeliveredImage.Form(image: image, source: .fleet)))
      })
    if work.look == nil { makeOrRefuse(work) }
  }

  /// Whether a decoder is likely to make it.
  private func mayMake(_ work: RenditionWork) -> Bool {
    guard work.refusal == nil, !isWithoutDecoder, case .file(let format, _) = work.rendition.output else {
      return false
    }
    return format.map { writable?.contains($0) ?? true } ?? true
  }

  private func makeOrRefuse(_ work: RenditionWork) {
    if let failure = work.refusal { end(work, .failure(failure)) } else { begin(work) }
  }

  /// A form of another host as an image; nil if it is not of the wanted form, or beyond the limits here.
  private func image(of found: FleetPicture, _ picture: PictureMeasures, for work: RenditionWork) -> CachedImage? {
    let isWanted =
      if case .file(let format?, _) = work.rendition.output { picture.format == format } else {
        !picture.format.isDrawn
      }
    let image = work.original.derived(
      key: work.key,
      body: ImageBody(
        found.payload,
        facts: ImageFacts(
          format: picture.format.rawValue, width: picture.width, height: picture.height, frames: picture.frames,
          orientation: picture.orientation), checksum: found.record.checksum,
        description: Array(work.rendition.form.utf8)),
      owner: work.holder.uid, checked: work.checked)
    return isWanted && limits.refusal(of: image.facts) == nil ? image : nil
  }

  private func begin(_ work: RenditionWork) {
    let (source, format) = (work.source, work.source.facts.pictureFormat)
    let order = DecodeOrder(
      serial: work.serial, format: format, picture: source.payload, rendition: work.ordered, limits: limits)
    work.isBegun = true
    let coding: JPEGCoding = format == .jpeg ? source.payload.withBytes { JPEGCoding($0) } : .baseline
    let expected = ServiceTime(making: work.ordered, of: source.facts, coded: coding)
    decoding.begin(
      QueuedOrder(order: order, picture: source.checksum, expected: expected, claims: work.claims) {
        [unowned self] answer in
        guard work.isUnderWay else { return }
        receive(answer, for: work)
      })
  }

  private func refusal(of order: Order) -> DecodeFailure? {
    let source = order.source
    return limits.refusal(of: source.facts)
      ?? bad.failure(of: source, as: order.form?.rendition ?? order.rendition, at: loop.now)
  }

  private func receive(_ answer: DecodeAnswer, for work: RenditionWork) {
    isWithoutDecoder = if case .failure(let failure) = answer { failure.cause == .unavailable } else { false }
    switch answer {
    case .picture(let picture) where picture.format == nil: keep(picture, BodyChecksum.unknown, for: work)
    case .picture(let picture): sum(picture, for: work)
    case .description(let description):
      pictures.describe(work.original, as: description.packed)
      end(work, .success(DeliveredImage.Form(image: work.original, source: nil)))
    case .failure(let failure):
      if !isPurged(work) { bad.note(failure, of: work.source, as: work.ordered, at: loop.now) }
      end(work, .failure(failure))
    }
  }

  /// Whether a purge has named its picture in the meantime.
  private func isPurged(_ work: RenditionWork) -> Bool {
    let original = work.original
    return original.isPurged
      || pictures.purges.verdict(
        on: original.key, tags: original.tags, in: .all, after: work.checked, storedAt: original.storedAt) != .untouched
  }

  /// Sums the bytes of a picture; if there are many, in turns with all other work.
  private func sum(_ picture: MadePicture, for work: RenditionWork) {
    var sum = PartialChecksum(of: picture.content)
    turns.start { [unowned self] in
      guard work.isUnderWay else { return false }
      guard let checksum = sum.addBytes(most: Self.mostSummedAtOnce) else { return true }
      keep(picture, checksum, for: work)
      return false
    }
  }

  private func keep(_ picture: MadePicture, _ checksum: BodyChecksum, for work: RenditionWork) {
    if picture.content.takesReserve { pictures.noteEviction(pictures.memory.giveUpPixels()) }
    let image = work.original.made(picture, checksum, for: work)
    keepHere(image, for: work)
    if work.sharing == .keeping, !isPurged(work), let look = work.look.take() { fleet.keep(image, after: look) }
    end(work, .success(DeliveredImage.Form(image: image, source: nil)))
  }

  /// It may be kept if its original may.
  private func keepHere(_ image: CachedImage, for work: RenditionWork) {
    guard work.original.freshness.refusal == nil else { return }
    made.keep(image, as: work.rendition.form, of: work.original, in: work.tiers)
  }

  /// Tells all who wait, in parts if there are many.
  private func end(_ work: RenditionWork, _ outcome: Outcome) {
    forget(work)
    turns.start { work.tellSome(outcome) }
  }

  /// Answers a command once it is known what decoders can do: the first client that asks waits for a decoder to say so,
  /// and its next request waits for the answer. `isAtOnce` says that it is still the client's turn.
  func tellAbilities(to client: ReplyPlace, id: RequestID, answer: @escaping (KnownAbilities, _ isAtOnce: Bool) -> Void)
  {
    guard client.hasRoomToStandBy else {
      return client.refuse(id: id, receipt: nil, .tooManyReceipts(limit: client.limits.receipts))
    }
    var known: KnownAbilities?
    var ticket: ReplyPlace.Ticket?
    decoding.learnAbilities { abilities in
      guard let ticket else { return known = abilities }
      client.resume(ticket) { answer(abilities, false) }
      client.release()
    }
    if let known { return answer(known, true) }
    client.hold()
    ticket = client.standBy(id: id)
  }
}

extension CachedImage {
  /// The image of what a decoder has made of this picture. A small file gets no descriptor of its own.
  fileprivate func made(
    _ made: MadePicture, _ checksum: BodyChecksum, for work: RenditionWork
  ) -> CachedImage {
    let rendition = work.rendition
    let isSmall = made.format != nil && made.content.count <= Payload.heapLimit
    return derived(
      key: work.key,
      body: ImageBody(
        isSmall ? made.content.plain : made.content.outsideReserve(),
        facts: ImageFacts(
          format: made.format?.rawValue ?? facts.format, width: made.width, height: made.height, frames: made.frames,
          orientation: 1), checksum: checksum,
        // A file says what it is, for those who look for a form to make another of.
        description: made.format == nil
          ? PixelNotes(layout: rendition.layout, delays: made.delays).packed : Array(rendition.form.utf8),
        isPixels: made.format == nil), owner: work.holder.uid, checked: work.checked)
  }
}

/// What decoders can do here, or why there is no decoder.
typealias KnownAbilities = Result<DecoderAbilities, DecodeFailure>

extension DecoderAbilities.Layers {
  /// How much of the sandbox is in force.
  var extent: String { isSuperset(of: .all) ? "full" : isEmpty ? "off" : "partial" }
}

extension JSONWriter {
  /// Writes the formats, the library and the sandbox; without a decoder, the reason for that.
  mutating func abilities(_ abilities: KnownAbilities) {
    switch abilities {
    case .success(let abilities):
      field("sandbox", abilities.layers.extent)
      formats("decodes", abilities.reads)
      formats("encodes", abilities.writes)
      field("library", abilities.library)
    case .failure(let failure):
      field("sandbox", DecoderAbilities.Layers().extent)
      formats("decodes", [])
      formats("encodes", [])
      field("note", failure.reason)
    }
  }

  private mutating func formats(_ name: StaticString, _ formats: Set<PictureFormat>) {
    array(name) { line in
      for format in PictureFormat.allCases where formats.contains(format) { line.value(format.name) }
    }
  }
}
