internal import ImgdSystem
import Synchronization

/// One download for the engine, with its limits.
package struct TransferOrder: Sendable {
  /// Identifies the transfer; unique among those under way.
  package let serial: UInt64
  package let url: String
  /// Sent in addition to the engine's own; a field of the same name replaces the engine's.
  package var headers: [HeaderField]
  /// The maximum size of the body, after decoding.
  package var maxBytes: Int
  /// The limit for everything together: attempts and the pauses between them.
  package var deadline: Duration
  /// Whether a body that breaks off may be kept for a later transfer, and this one may continue such a body.
  package var keepsPartial: Bool
  /// The user for whom the name is looked up, where users take turns.
  package var uid: UInt32
  /// Whether a public address has led here: then a private one is refused.
  package var isAfterPublic: Bool
  /// Signs the requests for an object of a bucket, which the URL then names, like `s3://bucket/key`.
  package var signer: RequestSigner?
  /// The URL of the proxy that leads there; nil for none. Proxies of the environment are ignored.
  package var proxy: String?
  /// Slows down what the origin sends.
  package var throttle: Throttle?
  /// What the transfer waits for at the moment.
  package let phase = PhaseCell()

  package init(
    serial: UInt64, url: String, headers: [HeaderField] = [], maxBytes: Int, deadline: Duration,
    keepsPartial: Bool = true, uid: UInt32 = 0, isAfterPublic: Bool = false, signer: RequestSigner? = nil,
    proxy: String? = nil, throttle: Throttle? = nil
  ) {
    self.serial = serial
    self.url = url
    self.headers = headers
    self.maxBytes = maxBytes
    self.deadline = deadline
    self.keepsPartial = keepsPartial
    self.uid = uid
    self.isAfterPublic = isAfterPublic
    self.signer = signer
    self.proxy = proxy
    self.throttle = throttle
  }

  /// Whether the request is conditional, so that 304 is a valid answer.
  var isConditional: Bool {
    headers.contains { ["if-none-match", "if-modified-since"].contains($0.name.lowercased()) }
  }

  /// Whether the body may be assembled from parts: not with conditions or a range, nor when it may not be stored.
  var isResumable: Bool {
    !headers.contains { field in
      let name = field.name.lowercased()
      return name.hasPrefix("if-") || name == "range" || name == "cache-control" && Self.forbidsStoring(field.value)
    }
  }

  private static func forbidsStoring(_ cacheControl: String) -> Bool {
    cacheControl.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.contains { $0.hasPrefix("no-store") }
  }
}

/// What a transfer waits for.
package enum TransferPhase: UInt8, Sendable, CaseIterable, Comparable {
  /// The addresses of the host, or a turn to look them up.
  case dns
  /// A connection, including one through a proxy.
  case connect
  case tls
  /// The head of the answer: the request has been sent.
  case firstByte
  case body

  package static func < (left: TransferPhase, right: TransferPhase) -> Bool { left.rawValue < right.rawValue }

  /// The phase in the words of the protocol.
  package var name: String {
    switch self {
    case .dns: "dns"
    case .connect: "connect"
    case .tls: "tls"
    case .firstByte: "first_byte"
    case .body: "body"
    }
  }

  /// The sentence for people about a transfer that waited for too long.
  package func complaint(about host: String, after limit: Duration) -> String {
    let missing =
      switch self {
      case .dns: "no address of \(host)"
      case .connect: "no connection to \(host)"
      case .tls: "no TLS handshake with \(host)"
      case .firstByte: "no answer from \(host)"
      case .body: "no whole picture from \(host)"
      }
    return "\(missing) within \(DurationText.text(limit))"
  }
}

/// The present phase of one transfer, which the engine writes and any thread may read. A redirect and another attempt
/// begin the phases again; the pause before an attempt counts towards the phase that failed.
package final class PhaseCell: Sendable {
  private let value = Atomic(UInt8.max)

  package init() {}

  /// Nil until the engine has taken up the order.
  package var known: TransferPhase? { TransferPhase(rawValue: value.load(ordering: .relaxed)) }

  var phase: TransferPhase { known ?? .connect }

  /// Called by the engine alone, from the beginning of the transfer on.
  package func enter(_ phase: TransferPhase) { value.store(phase.rawValue, ordering: .relaxed) }
}

/// Settings for all transfers; a transfer keeps those that it began with.
package struct TransferSettings: Sendable {
  /// The limit for name resolution, connection and TLS.
  package var connectTimeout: Duration = .seconds(10)
  /// How long a connected origin may be silent.
  package var idleTimeout: Duration = .seconds(20)
  package var retries = 2
  /// The fields of every request.
  package var ownFields = OwnFields()
  package var caFile = "/etc/ssl/certs/ca-certificates.crt"
  package var addressRule = AddressRule()
  /// How long transfers wait for the first one to an origin with TLS.
  var contactPatience = Duration.seconds(1)
  /// How many idle connections are kept for the next transfer to the same origin.
  package var maxConnections = 32
  /// How many engines share what is there for all: connections, handles and bodies that broke off.
  var engines = 1

  package init() {}
}

/// The header fields that the engine gives every request.
package struct OwnFields: Sendable {
  /// The last lines of every request: curl would otherwise send `Expect` unasked.
  static let closingLines = ["Expect:"]

  let fields: [HeaderField]
  /// All lines of a request without other fields, as nearly all are, in curl's notation.
  let lines: [String]

  /// Fields that would be more than one line are left out.
  package init(userAgent: String = "imgd", accept: String = "image/*,*/*;q=0.5") {
    fields = [HeaderField("User-Agent", userAgent), HeaderField("Accept", accept)].filter(\.isOneLine)
    lines = fields.map(\.line) + Self.closingLines
  }
}

/// One HTTP header field, of a request or of a response.
package struct HeaderField: Hashable, Sendable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Whether the field is one line: a line end in it would begin a second field.
  var isOneLine: Bool { !name.isEmpty && !(name + value).utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f } }

  /// To curl, `Name:` means to leave the field out and `Name;` that it has no value.
  var line: String { value.isEmpty ? "\(name);" : "\(name): \(value)" }
}
