private import CBench

/// A server of the bench's own, in a process of its own: the smallest picture under every URL, or dead.
struct Origin {
  enum Kind: String {
    case pictures
    /// Takes a connection and never says anything.
    case silent
    /// Sends a head, then a byte a second.
    case dripping
    /// Takes no connection.
    case blackhole

    fileprivate var code: CInt {
      switch self {
      case .pictures: CInt(BENCH_PICTURES)
      case .silent: CInt(BENCH_SILENT)
      case .dripping: CInt(BENCH_DRIPPING)
      case .blackhole: CInt(BENCH_BLACKHOLE)
      }
    }
  }

  let port: CInt
  private let kind: Kind
  private let hosts: Int

  /// `delay` is in seconds, until a picture is sent; a head has at least `headBytes`.
  init(
    _ bench: Bench, _ kind: Kind = .pictures, hosts: Int = 1, status: Int = 200, delay: Double = 0,
    headBytes: Int = 0
  ) throws(BenchFailure) {
    self.kind = kind
    self.hosts = hosts
    port = bench_free_port()
    let child = try bench.serve(
      [
        Options.own, "origin", kind.rawValue, "\(hosts)", "\(port)", "\(status)",
        "\(Int(delay * 1e6))", "\(headBytes)",
      ], "origin", place: .anywhere)
    try child.awaitReady("the origin") { [port] in
      (File.text("/proc/net/tcp") ?? "").contains(":\(hexadecimal(port)) 00000000:0000 0A")
    }
  }

  /// The URL of a number below a million, all of the same length; with many hosts each has its turn.
  func url(_ number: Int) -> String {
    let host = kind == .pictures ? "127.0.0.1" : "127.0.1.\(1 + number % hosts)"
    return "http://\(host):\(port)/\(1_000_000 + number).png"
  }

  /// `origin KIND HOSTS PORT STATUS DELAY-IN-MICROSECONDS HEAD-BYTES`
  static func serve(_ words: [String]) throws(BenchFailure) {
    let numbers = words[2...].compactMap { Int($0) }
    guard let kind = Kind(rawValue: words[1]), numbers.count == 5 else {
      throw .usage("origin: bad words")
    }
    var origin = bench_origin()
    origin.kind = kind.code
    origin.hosts = CInt(numbers[0])
    origin.port = CInt(numbers[1])
    origin.status = CInt(numbers[2])
    origin.delay_ns = UInt64(numbers[3]) * 1_000
    origin.head_bytes = numbers[4]
    let picture = PNGFile.make(bytes: 0, seed: 1)
    // The picture outlives the call.
    _ = unsafe bench_origin_serve(&origin, picture, picture.count)
    throw .system("origin", "port \(numbers[1])")
  }
}

private func hexadecimal(_ port: CInt) -> String {
  let digits = String(port, radix: 16, uppercase: true)
  return String(repeating: "0", count: 4 - digits.count) + digits
}
