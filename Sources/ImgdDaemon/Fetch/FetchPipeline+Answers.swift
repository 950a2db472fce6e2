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
        delivered: delivered, id: id, receipt: job.receipt,
        delivery: delivery ?? job.request.delivery, showsHTTP: job.request.http,
        url: job.request.url, elapsed: Instant.current - job.startedAt, now: loop.now)
      deliver(reply, to: session)
    }
  }

  func deliver(_ reply: FetchReply, to session: ClientSession) {
    if session.isFull, reply.delivery == .inline || reply.delivery == .fd {
      return session.postpone(reply)
    }
    switch reply.delivery {
    case .path, .none: session.write(reply)
    case .inline: deliverInline(reply, to: session)
    case .fd: deliverDescriptor(reply, to: session)
    case .pixels:
      session.refuse(id: reply.id, receipt: reply.receipt, .needsDecoder("deliver pixels"))
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
      session.attach(try memory.lend(reply.delivered.image))
      session.write(reply)
    } catch {
      session.refuse(id: reply.id, receipt: reply.receipt, .noDescriptor(error))
    }
  }

  // MARK: Events

  func tell(_ job: FetchJob, _ event: String) {
    job.session?.write { line in
      line.beginEvent(event, id: job.id, receipt: job.receipt)
      line.field("url", job.request.url)
      line.endReply()
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
