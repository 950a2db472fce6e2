import ImgdCache
import ImgdDecode
import ImgdProgram
import ImgdSystem
import ImgdWire

/// The last stage of a fetch: outcomes and events become lines.
final class FetchAnswers {
  private let pictures: PictureTiers
  private let renditions: Renditions
  private let loop: EventLoop
  /// The most bytes of a picture inside a line.
  private var maxInline: Int

  init(pictures: PictureTiers, renditions: Renditions, loop: EventLoop, settings: Configuration) {
    self.pictures = pictures
    self.renditions = renditions
    self.loop = loop
    maxInline = settings.control.maxInline
  }

  func apply(_ settings: Configuration) { maxInline = settings.control.maxInline }

  /// Writes the terminal line; `path` is given where it is known already.
  func write(_ outcome: FetchOutcome, to recipient: Recipient, path: PictureLine.Path? = nil) {
    switch outcome {
    case .failure(let failure):
      recipient.client.refuse(
        id: recipient.id, receipt: recipient.receipt, url: recipient.request.url, failure.error,
        http: recipient.request.http && !recipient.request.isOfDescriptor ? failure.head : nil)
    case .image(let delivered): deliver(delivered, to: recipient, path: path)
    case .notModified(let answer): answer.write(to: recipient, at: loop.moment)
    }
  }

  private func deliver(_ delivered: DeliveredImage, to recipient: Recipient, path: PictureLine.Path? = nil) {
    let client = recipient.client
    if client.isFull, recipient.delivery.bringsBytes {
      return client.postpone { [unowned self] in deliver(delivered, to: recipient) }
    }
    let image = delivered.image
    // The daemon itself has had it confirmed, for the forms that are there.
    if !image.hasBody, recipient.delivery != .none { return refuse(recipient, .bytesAreGone) }
    if image.isPixels, [.path, .inline, .fd].contains(recipient.delivery) { return refuse(recipient, .keptAsPixels) }
    switch recipient.delivery {
    case .path: deliverPath(of: delivered, to: recipient, path: path)
    case .none: write(delivered, to: recipient)
    case .inline:
      guard mayBeInline(image) else { return refuse(recipient, .tooLargeInline(image.byteCount, limit: maxInline)) }
      write(delivered, to: recipient, content: .inline(image.payload))
    case .fd: deliverDescriptor(of: delivered, to: recipient)
    case .pixels: deliverPixels(of: delivered, to: recipient)
    }
  }

  /// A client that collects an outcome later may find the file gone, and waits until there is one again.
  private func deliverPath(of delivered: DeliveredImage, to recipient: Recipient, path: PictureLine.Path?) {
    let client = recipient.client
    if let path { return write(delivered, to: recipient, path: path) }
    let ticket = client.standBy(id: recipient.id, receipt: recipient.receipt)
    pictures.lendFile(
      of: delivered.image, mayStore: recipient.request.keepsOnDisk, countsAsUse: recipient.request.cache.counts
    ) { [unowned self] path in client.resume(ticket) { write(delivered, to: recipient, path: path) } }
  }

  func mayBeInline(_ image: CachedImage) -> Bool { image.byteCount <= maxInline }

  private func deliverDescriptor(
    of delivered: DeliveredImage, to recipient: Recipient, as content: PictureLine.Content? = nil
  ) {
    let image = delivered.image
    do throws(SystemFailure) {
      recipient.client.attach(try pictures.openDescriptor(of: image))
      write(delivered, to: recipient, content: content ?? .descriptor(LentPicture(image, among: pictures.purges)))
    } catch { refuse(recipient, .noDescriptor(error)) }
  }

  /// A client that collects an outcome may want the pixels of a picture that was kept as a file.
  private func deliverPixels(of delivered: DeliveredImage, to recipient: Recipient) {
    if delivered.image.isPixels { return deliverDescriptor(of: delivered, to: recipient, as: .pixels) }
    let client = recipient.client
    let ticket = client.standBy(id: recipient.id, receipt: recipient.receipt)
    let order = Renditions.Order(
      rendition: Rendition(.pixels, frames: .first, layout: Rendition.Layout(recipient.request.form.layout)),
      original: delivered.image,
      claim: DecodeClaim(of: recipient.request, by: client.claimant),
      tiers: recipient.request.keepsInMemory ? [.memory] : [], countsAsUse: recipient.request.cache.counts)
    renditions.make(order) { [unowned self] outcome in
      client.resume(ticket) {
        switch outcome {
        case .success(let made):
          var pixels = delivered
          pixels.image = made.image
          deliver(pixels, to: recipient)
        case .failure(let failure): refuse(recipient, failure.error)
        }
      }
    }
  }

  private func refuse(_ recipient: Recipient, _ error: WireError) {
    recipient.client.refuse(id: recipient.id, receipt: recipient.receipt, url: recipient.request.url, error)
  }

  private func write(
    _ delivered: DeliveredImage, to recipient: Recipient, path: PictureLine.Path = .notWanted,
    content: PictureLine.Content = .none
  ) {
    PictureLine(
      picture: ShownPicture(delivered, url: recipient.request.url, at: loop.now), path: path, content: content,
      http: recipient.request.http && !recipient.request.isOfDescriptor ? delivered.image.response : nil
    ).write(
      to: recipient.client, id: recipient.id, receipt: recipient.receipt,
      after: (loop.moment - recipient.startedAt).nanoseconds)
  }

  /// Writes the line of a request that does not wait.
  func acknowledge(_ job: FetchJob, as state: FetchState) {
    job.client?.reply(id: job.id) { line in
      line.field("receipt", job.receipt)
      line.field("url", job.request.url)
      line.field("state", state.rawValue)
    }
  }

  /// Tells that the fetch is queued or started, where that is wanted; its host is left alone for `pause`, or it waits
  /// for something other than its turn.
  func tell(
    _ event: StaticString, of job: FetchJob, after pause: @autoclosure () -> Duration? = nil,
    held: @autoclosure () -> HoldReason? = nil, waitingFor phase: WaitingPhase? = nil
  ) {
    guard job.request.events else { return }
    job.client?.write { line in
      ReplyEncoder.begin(id: job.id, event: event, receipt: job.receipt, into: &line)
      line.field("url", job.request.url)
      if let pause = pause() { line.field("retry_after_ms", Int(pause.milliseconds)) }
      if let phase { line.field("phase", phase.name) }
      if let held = held() { line.hold(held) }
      ReplyEncoder.end(into: &line)
    }
  }

  /// Sends the client the placeholder of the picture, if it wants to hear that and has to wait.
  func tellPlaceholder(of delivered: DeliveredImage, to job: FetchJob) {
    guard job.request.events, let placeholder = delivered.placeholder else { return }
    let facts = delivered.image.facts
    job.client?.write { line in
      ReplyEncoder.begin(id: job.id, event: "placeholder", receipt: job.receipt, into: &line)
      line.field("url", job.request.url)
      line.field("width", Int(facts.width))
      line.field("height", Int(facts.height))
      line.placeholder(placeholder)
      ReplyEncoder.end(into: &line)
    }
  }

  func tellProgress(of job: FetchJob) {
    guard job.request.progress, let client = job.client else { return }
    client.tellProgress(of: job.receipt) { [unowned self] in
      guard let download = job.download else { return }
      writeProgress(of: job, received: download.received, expected: download.expected, to: client)
    }
  }

  /// Sends the event with the final count once, whether or not the transfer has reported it.
  func finishProgress(of job: FetchJob, with outcome: FetchOutcome) {
    guard job.request.progress, case .image(let delivered) = outcome, delivered.source == .network else { return }
    let bytes = delivered.image.byteCount
    guard let client = job.client else { return }
    writeProgress(of: job, received: bytes, expected: bytes, to: client)
  }

  /// Tells how far a fetch has come, unless that has been told already.
  private func writeProgress(of job: FetchJob, received: Int, expected: Int?, to client: ReplyPlace) {
    guard job.lastProgress != received else { return }
    job.lastProgress = received
    client.write { line in
      ReplyEncoder.begin(id: job.id, event: "progress", receipt: job.receipt, into: &line)
      line.field("received", received)
      line.field("expected", expected)
      ReplyEncoder.end(into: &line)
    }
  }
}

extension Recipient {
  /// The client that a job belongs to, or one that collects its outcome, with an id and a delivery of its own.
  init(_ client: ReplyPlace, of job: FetchJob, id: RequestID, delivery: Delivery? = nil) {
    self.init(client, job.request, delivery: delivery, id: id, receipt: job.receipt, startedAt: job.startedAt)
  }
}

// The last steps before a picture is answered: its placeholder, the wanted form, and a file for a path.

final class FormPreparation {
  let renditions: Renditions
  private let pictures: PictureTiers
  private let answers: FetchAnswers
  private let loop: EventLoop

  init(renditions: Renditions, pictures: PictureTiers, answers: FetchAnswers, loop: EventLoop) {
    self.renditions = renditions
    self.pictures = pictures
    self.answers = answers
    self.loop = loop
  }

  typealias Done = (FetchOutcome, PictureLine.Path?) -> Void

  /// Brings a picture into the form that a job wants; `then` is called once, unless the job ends before.
  func prepare(_ delivered: DeliveredImage, for job: FetchJob, then: @escaping Done) {
    guard job.request.describe, delivered.placeholder == nil else { return render(delivered, for: job, then: then) }
    let order = order(for: Rendition(.description), of: delivered.image, job)
    wait(job) { done in
      renditions.describe(order) { [unowned self] placeholder in
        done()
        var delivered = delivered
        delivered.placeholder = placeholder
        render(delivered, for: job, then: then)
      }
    }
  }

  private func render(_ delivered: DeliveredImage, for job: FetchJob, then: @escaping Done) {
    guard let wanted = job.wanted, !delivered.isMade else { return store(delivered, for: job, then: then) }
    let facts = delivered.image.facts
    let choice = wanted.choice(for: facts, writable: renditions.writable)
    if case .form = choice { answers.tellPlaceholder(of: delivered, to: job) }
    // What a host would make that writes everything may have been made by one.
    if case .refused(let failure) = choice, case .form(let form) = wanted.choice(for: facts, writable: nil),
      var order = order(for: form, of: delivered, job)
    {
      order.refusal = failure
      return make(order, of: delivered, for: job, then: then) { _ in
        then(.failure(FetchFailure(error: failure.error)), nil)
      }
    }
    carryOut(choice, with: delivered, for: job, then: then)
  }

  private func carryOut(
    _ choice: WantedRendition.Choice, with delivered: DeliveredImage, for job: FetchJob, then: @escaping Done
  ) {
    switch choice {
    case .original: store(delivered, for: job, then: then)
    case .refused(let failure): then(.failure(FetchFailure(error: failure.error)), nil)
    case .form(let form):
      guard let order = order(for: form, of: delivered, job) else {
        return then(.failure(FetchFailure(error: .bytesAreGone)), nil)
      }
      make(order, of: delivered, for: job, then: then) { [unowned self] failure in
        carryOut(next(after: form, failure, for: job, of: delivered.image), with: delivered, for: job, then: then)
      }
    }
  }

  private func make(
    _ order: Renditions.Order, of delivered: DeliveredImage, for job: FetchJob, then: @escaping Done,
    orElse fail: @escaping (DecodeFailure) -> Void
  ) {
    wait(job) { done in
      renditions.make(order) { [unowned self] outcome in
        done()
        switch outcome {
        case .success(let made): store(delivered.shown(as: made, at: loop.now), for: job, then: then)
        case .failure(let failure): fail(failure)
        }
      }
    }
  }

  /// Which encodings can be written may turn out when the first one is: then another of those wanted may be the one.
  private func next(
    after form: WantedRendition.Form, _ failure: DecodeFailure, for job: FetchJob, of image: CachedImage
  ) -> WantedRendition.Choice {
    guard let wanted = job.wanted, failure.cause == .unsupported || failure.cause == .unavailable else {
      return .refused(failure)
    }
    let writable = failure.cause == .unavailable ? [] : renditions.writable
    switch wanted.choice(for: image.facts, writable: writable) {
    case .form(let other) where other.text == form.text: return .refused(failure)
    case .refused: return .refused(failure)
    case let choice: return choice
    }
  }

  /// Nil where neither the picture's bytes are here nor another form of which this one can be made.
  private func order(for form: WantedRendition.Form, of delivered: DeliveredImage, _ job: FetchJob) -> Renditions.Order?
  {
    var order = order(for: form.rendition, of: delivered.image, job)
    guard !delivered.image.hasBody else { return order }
    order.form = delivered.sourceForm?.wanted == form.text ? delivered.sourceForm : nil
    return order.form == nil ? nil : order
  }

  private func order(for rendition: Rendition, of image: CachedImage, _ job: FetchJob) -> Renditions.Order {
    Renditions.Order(
      rendition: rendition, original: image, claim: DecodeClaim(of: job.request, by: job.claimant),
      tiers: job.request.tiers, countsAsUse: job.mode.counts,
      sharing: !job.mode.counts || job.mergeKey.digestForAll == nil
        ? .none : job.request.keepsInFleet ? .keeping : .reading)
  }

  /// Notes what a job waits for, unless it has come at once.
  private func wait(_ job: FetchJob, _ begin: (_ done: @escaping () -> Void) -> RenditionWork.Place?) {
    var isDone = false
    let place = begin {
      isDone = true
      job.waitingFor = .disk
    }
    if let place, !isDone { job.waitingFor = .decoder(place) }
  }

  private func store(_ delivered: DeliveredImage, for job: FetchJob, then: @escaping Done) {
    guard job.wantsPath, !delivered.image.isPixels else { return then(.image(delivered), nil) }
    job.waitingFor = .file
    pictures.lendFile(of: delivered.image, mayStore: job.request.keepsOnDisk, countsAsUse: job.mode.counts) { path in
      then(.image(delivered), path)
    }
  }
}

/// The log entry for a fetch that has ended; written only where every request is logged.
enum FetchLog {
  /// A picture in memory or on disk, shown at once.
  static func hit(_ request: FetchRequest, from source: DeliveredImage.Source, bytes: Int, after nanoseconds: Int64) {
    guard Log.isVerbose else { return }
    note(request.url, "\(source.rawValue), \(bytes) bytes", after: nanoseconds)
  }

  /// The end of a fetch that had to wait for something.
  static func end(_ job: FetchJob, _ outcome: FetchOutcome, at now: Instant) {
    guard Log.isVerbose else { return }
    let elapsed = (now - job.startedAt).nanoseconds
    switch outcome {
    case .image(let delivered):
      let stale = delivered.isStale ? " (stale)" : ""
      note(job.request.url, "\(delivered.source.rawValue)\(stale), \(delivered.image.byteCount) bytes", after: elapsed)
    case .notModified(let answer): note(job.request.url, "\(answer.source.rawValue), not modified", after: elapsed)
    case .failure(let failure): note(job.request.url, failure.error.code.rawValue, after: elapsed)
    }
  }

  private static func note(_ url: String, _ result: String, after nanoseconds: Int64) {
    Log.debug(.fetch) {
      let microseconds = nanoseconds / 1_000
      let time = microseconds < 10_000 ? "\(microseconds) us" : "\(microseconds / 1_000) ms"
      // The query of a signed URL is a secret.
      let withoutQuery = url.prefix { $0 != "?" && $0 != "#" }
      return "fetch \(withoutQuery): \(result), \(time)"
    }
  }
}
