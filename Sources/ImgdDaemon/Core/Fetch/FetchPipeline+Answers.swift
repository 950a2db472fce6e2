import ImgdCache
import ImgdSystem
import ImgdWire

// The last stage: outcomes become lines.

extension FetchPipeline {
  /// Writes the terminal line of a fetch, in the form that its asker wants.
  func answer(
    _ outcome: FetchOutcome, of job: FetchJob, to session: ClientSession, id: RequestID,
    as delivery: Delivery? = nil
  ) {
    switch outcome {
    case .failure(let failure):
      session.refuse(
        id: id, receipt: job.receipt, failure.error, http: job.request.http ? failure : nil)
    case .image(let delivered):
      if session === job.session { finishProgress(of: job, delivered) }
      let reply = FetchReply(
        delivered: delivered, id: id, receipt: job.receipt, request: job.request,
        delivery: delivery ?? job.request.delivery,
        elapsedNanoseconds: Instant.current.nanoseconds - job.startedAt.nanoseconds, now: loop.now)
      deliver(reply, to: session)
    }
  }

  func deliver(_ reply: FetchReply, to session: ClientSession) {
    if session.isFull, reply.delivery == .inline || reply.delivery == .fd {
      return session.postpone { [unowned self] in deliver(reply, to: $0) }
    }
    switch reply.delivery {
    case .path: deliverPath(reply, to: session)
    case .none: session.write(reply)
    case .inline: deliverInline(reply, to: session)
    case .fd: deliverDescriptor(reply, to: session)
    case .pixels:
      session.refuse(id: reply.id, receipt: reply.receipt, .needsDecoder("deliver pixels"))
    }
  }

  /// A job waits for its file before it ends; who collects its outcome later may find none.
  private func deliverPath(_ reply: FetchReply, to session: ClientSession) {
    let image = reply.delivered.image
    let lending = disk.lend(image, mayStore: reply.request.keepsOnDisk)
    guard lending == .waiting else {
      var reply = reply
      reply.path = FetchReply.Path(lending)
      return session.write(reply)
    }
    let ticket = session.standBy(id: reply.id, receipt: reply.receipt)
    disk.whenSettled(image) { [unowned self] in
      session.resume(ticket) { deliverPath(reply, to: session) }
    }
  }

  private func deliverInline(_ reply: FetchReply, to session: ClientSession) {
    let bytes = reply.delivered.image.payload.count
    let limit = settings.control.maxInline
    guard bytes <= limit else {
      return session.refuse(
        id: reply.id, receipt: reply.receipt, .tooLargeInline(bytes, limit: limit))
    }
    session.write(reply)
  }

  private func deliverDescriptor(_ reply: FetchReply, to session: ClientSession) {
    do throws(SystemFailure) {
      let image = reply.delivered.image
      hub.cache(.evicted, memory.makeLendable(image))
      session.attach(try image.payload.openReadOnly())
      session.write(reply)
    } catch {
      session.refuse(id: reply.id, receipt: reply.receipt, .noDescriptor(error))
    }
  }

  // MARK: Events

  func tell(_ job: FetchJob, _ event: StaticString) {
    job.session?.write { line in
      ReplyEncoder.begin(id: job.id, event: event, receipt: job.receipt, into: &line)
      line.field("url", job.request.url)
      ReplyEncoder.end(into: &line)
    }
  }

  func tellProgress(of job: FetchJob) {
    if job.request.progress { job.session?.tellProgress(of: job) }
  }

  /// The event with the final count comes once, whether or not the transfer has told of it.
  private func finishProgress(of job: FetchJob, _ delivered: DeliveredImage) {
    guard job.request.progress, delivered.source == .network else { return }
    let bytes = delivered.image.payload.count
    job.session?.writeProgress(of: job, received: bytes, expected: bytes)
  }
}
