import ImgdCache
import ImgdDecode
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

  // MARK: Terminal lines

  /// Writes the terminal line; `path` is given where it is known already.
  func write(_ outcome: FetchOutcome, to recipient: Recipient, path: PictureLine.Path? = nil) {
    switch outcome {
    case .failure(let failure):
      recipient.client.refuse(
        id: recipient.id, receipt: recipient.receipt, url: recipient.request.url, failure.error,
        http: recipient.request.http ? failure.head : nil)
    case .image(let delivered): deliver(delivered, to: recipient, path: path)
    case .notModified(let answer): answer.write(to: recipient, at: loop.moment)
    }
  }

  private func deliver(_ delivered: DeliveredImage, to recipient: Recipient, path: PictureLine.Path? = nil) {
    let client = recipient.client
    if client.isFull, recipient.delivery.bringsBytes {
      return client.postpone { [unowned self] in deliver(delivered, to: recipient) }
    }
    switch recipient.delivery {
    case .path, .inline, .fd: if delivered.image.isPixels { return refuse(recipient, .keptAsPixels) }
    case .pixels, .none: break
    }
    switch recipient.delivery {
    case .path: deliverPath(of: delivered, to: recipient, path: path)
    case .none: write(delivered, to: recipient)
    case .inline: deliverInline(delivered, to: recipient)
    case .fd: deliverDescriptor(of: delivered, to: recipient)
    case .pixels: deliverPixels(of: delivered, to: recipient)
    }
  }

  /// A job waits for its file before it ends; a client that collects its outcome later may find
  /// the file gone, and waits until there is one again.
  private func deliverPath(of delivered: DeliveredImage, to recipient: Recipient, path: PictureLine.Path?) {
    let client = recipient.client
    if let path { return write(delivered, to: recipient, path: path) }
    let ticket = client.standBy(id: recipient.id, receipt: recipient.receipt)
    pictures.lendFile(
      of: delivered.image, mayStore: recipient.request.keepsOnDisk, countsAsUse: recipient.request.cache.counts
    ) { [unowned self] path in client.resume(ticket) { write(delivered, to: recipient, path: path) } }
  }

  /// Whether a picture is small enough to be delivered inside a line.
  func mayBeInline(_ image: CachedImage) -> Bool { image.byteCount <= maxInline }

  private func deliverInline(_ delivered: DeliveredImage, to recipient: Recipient) {
    let image = delivered.image
    guard mayBeInline(image) else { return refuse(recipient, .tooLargeInline(image.byteCount, limit: maxInline)) }
    write(delivered, to: recipient, content: .inline(image.payload))
  }

  private func deliverDescriptor(
    of delivered: DeliveredImage, to recipient: Recipient, as content: PictureLine.Content? = nil
  ) {
    let image = delivered.image
    do throws(SystemFailure) {
      recipient.client.attach(try pictures.openDescriptor(of: image))
      write(delivered, to: recipient, content: content ?? .descriptor(LentPicture(image, among: pictures.purges)))
    } catch { refuse(recipient, .noDescriptor(error)) }
  }

  /// A job has its pixels made before it ends; a client that collects its outcome may want them of a
  /// picture that was kept as a file.
  private func deliverPixels(of delivered: DeliveredImage, to recipient: Recipient) {
    if delivered.image.isPixels { return deliverDescriptor(of: delivered, to: recipient, as: .pixels) }
    let client = recipient.client
    let ticket = client.standBy(id: recipient.id, receipt: recipient.receipt)
    let order = Renditions.Order(
      rendition: Rendition(.pixels, frames: .first), original: delivered.image,
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
      http: recipient.request.http ? delivered.image.response : nil
    ).write(
      to: recipient.client, id: recipient.id, receipt: recipient.receipt,
      after: (loop.moment - recipient.startedAt).nanoseconds)
  }

  // MARK: Lines before that

  /// Writes the line of a request that does not wait.
  func acknowledge(_ job: FetchJob, as state: FetchState) {
    job.client?.reply(id: job.id) { line in
      line.field("receipt", job.receipt)
      line.field("url", job.request.url)
      line.field("state", state.rawValue)
    }
  }

  /// Tells the client that the fetch is queued or started, if it wants to hear that; `pause` is how long its host is
  /// left alone.
  func tell(_ event: StaticString, of job: FetchJob, after pause: Duration? = nil) {
    guard job.request.events else { return }
    job.client?.write { line in
      ReplyEncoder.begin(id: job.id, event: event, receipt: job.receipt, into: &line)
      line.field("url", job.request.url)
      if let pause { line.field("retry_after_ms", Int(pause.milliseconds)) }
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
