// The operator's settings, as values that the rest of the daemon uses directly. `ConfigurationKeys` has
// the table of their keys, and `ProgramConfiguration` tells how they are read.

import Glibc
package import ImgdCache
import ImgdSystem
package import ImgdTransfer

/// All settings, with valid values; the defaults are those of the machine's daemon.
package struct Configuration: Sendable, Equatable {
  package var control = Control()
  package var memory = Memory()
  package var disk = Disk()
  package var downloads = Downloads()
  package var http = HTTP()
  package var network = Network()
  package var decode = Decode()
  package var fleet = Fleet()
  package var origins: [OriginPattern: Origin] = [:]

  package init() {}

  /// The socket, and the limits for one client.
  package struct Control: Sendable, Equatable {
    package var socket = "/run/imgd/imgd.sock"
    package var maxClients = 1024
    package var maxLine = 64 << 10
    package var maxInline = 256 << 10
    /// Who may connect; empty for all whom the socket's mode lets in.
    package var allow: [Principal] = []
    package var admins = [Principal(name: "root"), Principal(name: "imgd-admin", isGroup: true)]
    /// Whose fetches and pictures a user is shown, and whose pictures it may remove.
    package var see = Whose.own
    package var purge = Whose.own
    /// Who is shown a picture that was fetched, and one that was put.
    package var share = Whose.all
    package var put = Whose.own
  }

  /// The memory tier.
  package struct Memory: Sendable, Equatable {
    package var capacity = 100 << 20
    package var preferred = Share.percent(60)
    package var maxEntry = Share.percent(25)
    package var pressure = PressureChoice.auto

    /// The bytes that an eviction leaves.
    package var preferredBytes: Int { preferred.bytes(of: capacity) }

    /// The largest entry that the tier keeps, in bytes.
    package var maxEntryBytes: Int { maxEntry.bytes(of: capacity) }
  }

  /// The disk tier.
  package struct Disk: Sendable, Equatable {
    package var enabled = true
    package var directory = "/var/cache/imgd"
    package var capacity = DiskCapacity.auto
    package var trimToPercent = 50
    /// Zero for no limit.
    package var maxAge = Duration.seconds(7 * 86_400)
    package var minFree = Share.percent(5)
    package var lease = Duration.seconds(30)
    package var originals = Originals.shed
  }

  /// The downloader and its limits.
  package struct Downloads: Sendable, Equatable {
    package var maxActive = 32
    package var maxPerHost = 4
    package var threads = AutomaticCount.auto
    package var order = Order.fifo
    package var orphans = Orphans.cancel
    package var connectTimeout = Duration.seconds(10)
    package var idleTimeout = Duration.seconds(20)
    package var timeout = Duration.seconds(60)
    package var maxBytes = 64 << 20
    package var maxRedirects = 5
    package var retries = 2
    package var userAgent = "imgd/" + Release.version
    package var acceptTypes = AcceptedType.allCases.filter { $0 != .svg }
  }

  /// How long a picture counts as fresh if the origin does not say.
  package struct HTTP: Sendable, Equatable {
    package var defaultFreshness = Duration.seconds(3600)
    package var heuristicPercent = 10
    /// How long a 404 or 410 is remembered; zero for not at all.
    package var negativeFreshness = Duration.seconds(60)
    /// How long a stale picture may be delivered if the origin fails; zero for not at all.
    package var staleIfError = Duration.zero
    /// The longest lifetime that a request may set with `ttl`.
    package var maxTTL = Duration.seconds(7 * 86_400)
    /// Lower-case names of further header fields that are credentials.
    package var credentialFields: [String] = []
  }

  /// The addresses to which the daemon may connect, and the way to them.
  package struct Network: Sendable, Equatable {
    package var privateAddresses = PrivateAddresses.direct
    package var allow: [String] = []
    package var deny: [String] = []
    package var proxy: String?
    /// The origins that are asked without it.
    package var noProxy: [OriginPattern] = []
    package var offline = OfflineChoice.auto
    package var caFile = "/etc/ssl/certs/ca-certificates.crt"

    /// The reason why every https origin will fail; nil if the certificates can be read.
    ///
    /// This is not a mistake in the configuration: the file may come later, and plain http needs no certificates.
    var certificateProblem: String? {
      guard unsafe access(caFile, R_OK) != 0 else { return nil }
      let reason = SystemFailure("access").reason
      return "no https origin can be verified: Network.CAFile=\(caFile) cannot be read: \(reason)"
    }
  }

  /// The servers that hosts share.
  package struct Fleet: Sendable, Equatable {
    /// Where it is, as `FleetSettings.Server` reads it; empty for a machine without a fleet.
    package var server = ""
    /// Where the pictures are; empty if they are there, too.
    package var pictures: [String] = []
    package var user = ""
    package var passwordFile = ""
    package var caFile = ""
    package var serverName = ""
    package var certificateFile = ""
    package var keyFile = ""
    package var namespace = "imgd"
    package var maxObject = 1 << 20
    package var timeout = Duration.milliseconds(50)
    package var ttl = Duration.seconds(86_400)
  }

  /// What is known of one origin; nil for what is not set.
  package struct Origin: Sendable, Equatable {
    /// The parameters of URLs that belong to the keys of pictures; nil for all.
    package var key: QueryRule?
    /// Header fields for each request: the path of a file, or the name of a credential of the service; empty for none.
    package var headerFile = ""
    /// What that file has; it stands nowhere but here and in the orders for transfers. Nil where none is read.
    package var headers: FileContents<[HeaderField]>?
    /// The service that has a bucket; nil for AWS.
    package var endpoint: BucketEndpoint?
    /// Where a bucket is looked for first.
    package var region: String?
    /// The keys of an account, for a bucket, in the same ways.
    package var credentialsFile = ""
    package var credentials: FileContents<SigningCredentials>?
    /// How many downloads run at once from one host.
    package var maxActive: Int?
    /// How often a download begins at one host.
    package var rate: DownloadRate?
    /// How many bytes a second come from one host.
    package var bandwidth: Int?
    /// The proxy that leads there, or none; nil for that of the network.
    package var proxy: String??
    /// How long a picture is fresh at least, whatever its origin says.
    package var minFresh: Duration?
    /// Where a picture is fetched if the origin cannot be reached.
    package var fallback: FallbackURL?
    /// The fields of answers that have tags, in lower case.
    package var tagFields: [String] = []
  }

  /// What a file had when it was read.
  package struct FileContents<Value: Sendable & Equatable>: Sendable, Equatable {
    package var value: Value
    /// Another number after each change of the file.
    package var stamp: UInt64
    /// What is wrong with the file as it is now; these are its former fields then.
    package var problem: String?
  }

  /// The processes that decode pictures, and how much they take on.
  package struct Decode: Sendable, Equatable {
    package var workers = AutomaticCount.auto
    /// Pixels of all frames together.
    package var maxPixels = 100_000_000
    package var maxFrames = 1_000
    /// Pixels of either side.
    package var maxDimension = 65_535
    package var timeout = Duration.seconds(10)
    /// Address space for each process.
    package var memory = 1 << 30
    package var idleExit = Duration.seconds(30)
    package var sandbox = SandboxChoice.required
  }
}

/// Whether something is about what is a user's own, or about everything.
package enum Whose: String, Sendable, CaseIterable { case own, all }

/// A user, or a group, by its name or its number.
package struct Principal: Sendable, Equatable {
  package let name: String
  package var isGroup = false
}

/// The order in which waiting downloads start.
package enum Order: String, Sendable, CaseIterable { case fifo, lifo }

/// The fate of a running download when no request waits for it any more.
package enum Orphans: String, Sendable, CaseIterable { case cancel, finish }

/// What goes first of a picture on disk that has forms: its bytes, or everything at once.
package enum Originals: String, Sendable, CaseIterable { case shed, keep }

/// Whether the daemon watches for memory pressure, with the best source on this machine.
package enum PressureChoice: String, Sendable, CaseIterable { case auto, off }

/// Whether fetches wait, and stale pictures are shown, while no route leads out of the machine.
package enum OfflineChoice: String, Sendable, CaseIterable { case auto, off }

/// Whether the daemon may connect to private and loopback addresses: only if the request's URL leads
/// there, never, or always.
package enum PrivateAddresses: String, Sendable, CaseIterable { case direct, deny, allow }

/// A picture format that may be delivered and cached.
package enum AcceptedType: String, Sendable, CaseIterable {
  case jpeg, png, gif, webp, avif, heic, tiff, bmp, ico, jxl, jp2
  /// Not accepted unless it is named.
  case svg
}

/// A number of processes or threads, or what is right for the processors of the machine.
package enum AutomaticCount: Sendable, Equatable {
  case auto
  case count(Int)
}

/// Whether a decoder that lacks a part of its sandbox is used.
package enum SandboxChoice: String, Sendable, CaseIterable {
  case required
  case bestEffort = "best-effort"
}

/// The room for pictures on disk: chosen by the size of the file system, or in bytes.
package enum DiskCapacity: Sendable, Equatable {
  case auto
  case bytes(Int)
}

/// An amount in bytes, or as a percentage of another amount.
package enum Share: Sendable, Equatable {
  case bytes(Int)
  case percent(Int)

  /// The amount in bytes; a percentage is taken of `whole`.
  package func bytes(of whole: Int) -> Int {
    switch self {
    case .bytes(let bytes): bytes
    // The division comes first, because the product of a large size and a percentage may overflow.
    case .percent(let percent): whole / 100 * percent + whole % 100 * percent / 100
    }
  }
}
