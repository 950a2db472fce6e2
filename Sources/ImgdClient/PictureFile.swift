internal import ImgdSystem
internal import ImgdWire

/// A picture that the program itself has: a file, or bytes. The daemon reads it with the program's rights.
public struct PictureFile: Sendable {
  let shared: SharedDescriptor

  /// Opens a file; the error is `badRequest` where that fails.
  public init(path: String) throws { try self.init { () throws(SystemFailure) in try FileDescriptor(reading: path) } }

  /// A file that is open already, or memory. It is read from its beginning, and stays the program's own.
  public init(descriptor: CInt) throws {
    try self.init { () throws(SystemFailure) in try FileDescriptor(duplicating: descriptor) }
  }

  /// A copy of the bytes of a picture.
  public init(bytes: [UInt8]) throws {
    try self.init { () throws(SystemFailure) in try FileDescriptor.copy(of: bytes.span) }
  }

  private init(_ open: () throws(SystemFailure) -> FileDescriptor) throws {
    do throws(SystemFailure) { shared = SharedDescriptor(try open()) } catch {
      throw ImgdError(.badRequest, error.description)
    }
  }
}

/// How a picture of the program's own is kept.
public struct PutOptions: Hashable, Sendable {
  /// How long the picture counts as fresh, in whole seconds; nil for `HTTP.DefaultFreshness` of the daemon.
  public var ttl: Duration?
  /// Labels for purges.
  public var tags: [String]
  /// Whether it is shown to all users, which the daemon's configuration may forbid.
  public var isForAll: Bool

  /// By default it is kept as the daemon is configured.
  public init(ttl: Duration? = nil, tags: [String] = [], isForAll: Bool = false) {
    self.ttl = ttl
    self.tags = tags
    self.isForAll = isForAll
  }

  func request(for url: String) -> PutRequest {
    var put = PutRequest(url: url)
    put.ttl = ttl?.rounded(to: .seconds(1))
    put.tags = tags
    put.isForAll = isForAll
    return put
  }
}
