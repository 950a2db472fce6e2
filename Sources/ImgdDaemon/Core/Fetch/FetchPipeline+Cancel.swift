import ImgdWire

// Jobs that end before their time.

extension FetchPipeline {
  func cancel(_ job: FetchJob, supersededBy receipt: ReceiptID? = nil) {
    end(job, .failure(FetchFailure(error: .cancelled(supersededBy: receipt))))
  }

  /// Lets a slot take on a new fetch. The same thing again joins what runs in it; anything else
  /// cancels that first, so that a late result is never taken for the new one.
  func enterSlot(_ job: FetchJob, of session: ClientSession) {
    guard let slot = job.slot else { return }
    if !session.slots.isFetching(job.mergeKey, job.request, in: slot) {
      supersede(slot, of: session, by: job.receipt)
    }
    session.slots.begin(job, in: slot, limit: session.limits.receipts)
  }

  func supersede(_ slot: String, of session: ClientSession, by receipt: ReceiptID?) {
    for job in session.slots[slot]?.running ?? [] { cancel(job, supersededBy: receipt) }
  }
}
