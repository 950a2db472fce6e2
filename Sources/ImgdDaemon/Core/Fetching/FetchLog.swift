import ImgdCache
import ImgdProgram
import ImgdSystem
import ImgdWire

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
    Log.debug(.fetch) { "fetch \(withoutQuery(url)): \(result), \(time(nanoseconds))" }
  }

  /// The query of a signed URL is a secret.
  private static func withoutQuery(_ url: String) -> Substring { url.prefix { $0 != "?" && $0 != "#" } }

  private static func time(_ nanoseconds: Int64) -> String {
    let microseconds = nanoseconds / 1_000
    return microseconds < 10_000 ? "\(microseconds) us" : "\(microseconds / 1_000) ms"
  }
}
