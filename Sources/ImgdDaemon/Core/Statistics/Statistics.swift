/// Counters since the start, for `stats`; the tiers have their own.
enum Statistics {
  struct Downloads {
    var started = 0
    var completed = 0
    var failed = 0
    var cancelled = 0
    var coalesced = 0
    var retries = 0
    var revalidated = 0
    /// Transfers that ended with a redirect to another URL.
    var redirected = 0
    /// Bodies that were put together from what had come before and the rest.
    var resumed = 0
    var bytesReceived = 0
  }

  struct Clients {
    var accepted = 0
    var rejected = 0
    var slowClosed = 0
  }

  struct Pressure {
    var events = 0
    var removedBytes = 0
    var last: Int64?
  }
}
