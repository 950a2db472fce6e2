// News from the transfers, and what becomes of those who wait for them.

import ImgdCache
import ImgdWire

extension FetchPipeline {
  func take(_ news: DownloadNews, of download: MergedDownload) {
    switch news {
    case .started:
      for job in download.waiters where job.isQueued { tellStarted(job) }
    case .headers(let expected):
      endThoseBelow(expected ?? 0, of: download)
      for job in download.waiters { tellProgress(of: job) }
    case .progress(let received, _):
      endThoseBelow(received, of: download)
      for job in download.waiters { tellProgress(of: job) }
    case .finished(let outcome):
      landed(outcome, of: download)
    }
  }

  func tellStarted(_ job: FetchJob) {
    job.isQueued = false
    // Without a deadline of its own a fetch has the server's, from the start of the transfer on.
    if job.request.timeout == nil { expect(job, within: settings.downloads.timeout) }
    if job.request.events { tell(job, "started") }
    hub.job(job.receipt, url: job.url.text, .running)
  }

  /// A body that is too large for one may be right for another who waits for it.
  private func endThoseBelow(_ bytes: Int, of download: MergedDownload) {
    for job in download.waiters where job.allowance.bytes < bytes {
      end(job, .failure(FetchFailure(error: .tooLarge(limit: job.allowance.bytes))))
    }
  }

  /// The end of a transfer: store once, then answer everybody, so that whoever has the answer finds
  /// the image in the cache.
  private func landed(_ outcome: DownloadOutcome, of download: MergedDownload) {
    let result = settle(outcome, of: download)
    for job in download.waiters {
      download.remove(job)
      complete(job, result.own(of: job))
    }
  }
}
