import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport

@testable import ImgdDaemon

/// The decoders of a core, which answer as a test plans it.
final class PlannedDecoding: Decoding {
  /// The orders so far, and the numbers of those that were given up.
  private(set) var orders: [DecodeOrder] = []
  private(set) var aborted: [UInt64] = []
  /// Nil answers each order as a good decoder does.
  var failure: DecodeFailure?
  var abilities: Result<DecoderAbilities, DecodeFailure> = .success(
    DecoderAbilities(
      layers: .all, reads: [.jpeg, .png], writes: [.png, .webp], library: "planned"))
  /// Orders wait until they are let through.
  var isHeld = false
  private var waiting: [QueuedOrder] = []
  /// So many decoders have an order each, in turns, until the test ends it; nil: all orders are answered at once.
  var workers: Int?
  /// The orders that decoders have, in the order of their starts.
  private(set) var running: [QueuedOrder] = []
  private var queue = DecodeQueue()
  /// The loop of the core, on which answers come; set once by the composition.
  weak var loop: EventLoop?

  var figures: DecodingFigures {
    DecodingFigures(queued: waiting.count, completed: orders.count)
  }

  func begin(_ queued: QueuedOrder) {
    orders.append(queued.order)
    if workers != nil, let loop {
      queue.add(queued, at: loop.now)
      return advance()
    }
    waiting.append(queued)
    if !isHeld { letThrough() }
  }

  func join(serial: UInt64, _ claim: DecodeClaim) {
    _ = queue.join(serial, claim)
    advance()
  }

  func leave(serial: UInt64, _ claim: DecodeClaim) { _ = queue.leave(serial, claim) }

  /// The widths that decoders make now, in the order of their starts.
  var runningWidths: [Int] { running.compactMap { $0.order.rendition.box?.width } }

  /// Ends the order that makes a picture of this width.
  func finish(width: Int) {
    guard let loop, let place = runningWidths.firstIndex(of: width) else { return }
    let done = running.remove(at: place)
    queue.settle(done.order.serial, at: loop.now)
    if !aborted.contains(done.order.serial) { done.then(answer(to: done.order)) }
    advance()
  }

  private func advance() {
    guard let loop, let workers else { return }
    while running.count < workers,
      let next = queue.removeNext(forLast: running.count + 1 >= workers, at: loop.now)
    { running.append(next) }
  }

  /// Answers all orders that wait.
  func letThrough() {
    isHeld = false
    loop?.nextTick { [self] in
      while !waiting.isEmpty {
        let next = waiting.removeFirst()
        if !aborted.contains(next.order.serial) { next.then(answer(to: next.order)) }
      }
    }
  }

  func abort(serial: UInt64) {
    aborted.append(serial)
    _ = queue.remove(serial: serial)
  }

  /// Called with each order before it is answered; it may say why there is nothing.
  var onBegin: ((PlannedDecoding, DecodeOrder) -> DecodeFailure?)?

  /// Whether it is known what can be written.
  var isKnown = true
  var writable: Set<PictureFormat>? { isKnown ? try? abilities.get().writes : nil }

  /// Whether who asks for the abilities is told later.
  var isNew = false

  func learnAbilities(then: @escaping (Result<DecoderAbilities, DecodeFailure>) -> Void) {
    guard isNew else { return then(abilities) }
    loop?.nextTick { [self] in then(abilities) }
  }

  private func answer(to order: DecodeOrder) -> DecodeAnswer {
    if let failure = failure ?? onBegin?(self, order) { return .failure(failure) }
    let box = order.rendition.box
    let (width, height) = (box?.width ?? 8, box?.height ?? 4)
    switch order.rendition.output {
    case .description:
      return .description(
        PictureDescription(thumbHash: [1, 2, 3, 4, 5], average: [255, 128, 0, 255]))
    case .pixels:
      // Of three frames, where all are wanted.
      let delays = order.rendition.frames == .all ? [40, 50, 60_000] : []
      let count = width * height * 4 * max(1, delays.count)
      let source = (try? PictureProbe.recognise(order.picture.bytes.span))?.frames ?? 1
      return picture(nil, width, height, [UInt8](repeating: 7, count: count), frames: source, delays)
    case .file(let format, let quality):
      let bytes = png(500, seed: UInt64(width * 1_000 + height * 101 + (quality ?? 0)))
      return picture(format ?? order.format, width, height, bytes)
    }
  }

  private func picture(
    _ format: PictureFormat?, _ width: Int, _ height: Int, _ bytes: [UInt8], frames: Int = 1,
    _ delays: [Int] = []
  ) -> DecodeAnswer {
    guard let content = try? Payload(bytes).shareable() else {
      return .failure(DecodeFailure(.crashed, "no memory"))
    }
    return .picture(
      MadePicture(
        format: format, width: width, height: height, frames: frames, delays: delays,
        content: content))
  }
}
