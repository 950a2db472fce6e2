// What an operator can decide, as values the rest of the daemon uses as they are.
//
// The structs say what there is and what holds when nobody says anything. How a value is written
// in a file, which values are refused, what help a reader gets: that is in one table
// (`ConfigurationKey.all`), a row a key. Reading, printing, comparing and the manual page all walk
// the same table, so a key cannot be readable and not printable, or printed in a form that is
// refused.
//
// Values come from four places, a later one over an earlier one: the defaults, the file with its
// drop-ins, the environment, the command line (`ConfigurationLoader`). Each place is only a list of
// assignments; all of them are read to the end, every problem is collected, and a configuration
// comes out only when there is none. So a file with three mistakes names three lines, and a reload
// of a bad file changes nothing.

/// Everything an operator can set, checked; the defaults are those of the system instance.
package struct Configuration: Sendable, Equatable {
  package var control = Control()
  package var memory = Memory()
  package var disk = Disk()
  package var downloads = Downloads()
  package var http = HTTP()
  package var network = Network()

  package init() {}

  /// The socket, and what one client may take.
  package struct Control: Sendable, Equatable {
    package var socket = "/run/imgd/imgd.sock"
    package var maxClients = 1024
    package var maxLine = 64 << 10
    package var maxInline = 256 << 10
  }

  /// The memory tier.
  package struct Memory: Sendable, Equatable {
    package var capacity = 100 << 20
    package var preferred = 60 << 20
    package var maxEntry = Share.percent(25)
    package var pressure = PressureChoice.auto

    /// The largest entry the tier takes, in bytes.
    package var maxEntryBytes: Int { maxEntry.bytes(of: capacity) }
  }

  /// The disk tier.
  package struct Disk: Sendable, Equatable {
    package var enabled = true
    package var directory = "/var/cache/imgd"
    package var capacity = 150 << 20
    package var trimToPercent = 50
    /// Zero for no limit.
    package var maxAge = Duration.seconds(7 * 86_400)
    package var minFree = Share.percent(5)
    package var lease = Duration.seconds(30)
  }

  /// The downloader and its limits.
  package struct Downloads: Sendable, Equatable {
    package var maxActive = 4
    package var maxPerHost = 6
    package var order = Order.fifo
    package var orphans = Orphans.cancel
    package var connectTimeout = Duration.seconds(10)
    package var idleTimeout = Duration.seconds(20)
    package var timeout = Duration.seconds(60)
    package var maxBytes = 64 << 20
    package var maxRedirects = 5
    package var retries = 2
    package var userAgent = "imgd/" + Version.string
    package var acceptTypes = AcceptedType.allCases
  }

  /// How long an answer counts as fresh when the origin does not say.
  package struct HTTP: Sendable, Equatable {
    package var defaultFreshness = Duration.seconds(3600)
    package var heuristicPercent = 10
    /// How long it is remembered that there is no such picture; zero: not at all.
    package var negativeFreshness = Duration.seconds(60)
    /// How long a stale picture may stand in for an origin that fails and has not said; zero: not.
    package var staleIfError = Duration.zero
  }

  /// Which addresses may be asked, and how.
  package struct Network: Sendable, Equatable {
    package var privateAddresses = PrivateAddresses.direct
    package var allow: [String] = []
    package var deny: [String] = []
    package var proxy: String?
    package var caFile = "/etc/ssl/certs/ca-certificates.crt"
  }
}
