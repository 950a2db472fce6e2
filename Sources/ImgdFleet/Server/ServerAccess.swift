import Glibc
internal import ImgdSystem

/// An address that needs no look-up.
enum ServerPlace: Sendable, Equatable, CustomStringConvertible {
  case unix(path: String)
  case tcp(address: String, port: Int)
  /// `serverName` is the host as the configuration names it.
  case tls(address: String, port: Int, serverName: String, TLSSettings)

  var description: String {
    switch self {
    case .unix(let path): "unix:\(path)"
    case .tcp(let address, let port), .tls(let address, let port, _, _):
      FleetSettings.Endpoint(host: address, port: port).description
    }
  }

  /// Asks the system for the address of a name, which may take any time: not to be called on a loop, except for what
  /// needs no look-up.
  static func find(_ endpoint: FleetSettings.Endpoint, tls: TLSSettings? = nil) throws(FleetTrouble) -> ServerPlace {
    let address = isAddress(endpoint.host) ? endpoint.host : try self.address(of: endpoint.host)
    guard let tls else { return .tcp(address: address, port: endpoint.port) }
    return .tls(address: address, port: endpoint.port, serverName: endpoint.host, tls)
  }

  static func isAddress(_ host: String) -> Bool {
    var room = in6_addr()
    return unsafe inet_pton(AF_INET, host, &room) == 1 || inet_pton(AF_INET6, host, &room) == 1
  }

  /// The first address of a name: the system puts the one that is reached best in front.
  private static func address(of host: String) throws(FleetTrouble) -> String {
    var wanted = unsafe addrinfo()
    unsafe wanted.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(host, nil, &wanted, &first)
    guard code == 0, let entry = unsafe first else {
      throw FleetTrouble(.down, unsafe "the name \(host) is not found: \(String(cString: gai_strerror(code)))")
    }
    defer { unsafe freeaddrinfo(first) }
    var room = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let outcome = unsafe getnameinfo(
      entry.pointee.ai_addr, entry.pointee.ai_addrlen, &room, socklen_t(room.count), nil, 0, NI_NUMERICHOST)
    guard outcome == 0 else {
      throw FleetTrouble(.down, unsafe "the address of \(host) is of no use: \(String(cString: gai_strerror(outcome)))")
    }
    return String(decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// Who this host is for a server; a password that is in a file may change.
struct ServerLogin: Sendable, Equatable {
  /// A longer line is not a password.
  private static let longestPassword = 1024

  let user: String?
  let password: String?

  /// Reads the password, which may take any time where there is a file.
  init(_ settings: FleetSettings) throws(FleetTrouble) {
    user = settings.user
    password = try settings.passwordFile.map { file throws(FleetTrouble) in try Self.password(in: file) }
  }

  /// The command that logs in; nil without a user and a password.
  var command: RedisCommand? {
    guard user != nil || password != nil else { return nil }
    var command = RedisCommand("AUTH")
    if let user { command.add(user) }
    command.add(password ?? "")
    return command
  }

  private static func password(in path: String) throws(FleetTrouble) -> String {
    let bytes: [UInt8]
    do throws(SystemFailure) {
      // A pipe without a writer must not hold anything up.
      bytes = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK).part(longestPassword + 1, of: path)
    } catch { throw FleetTrouble(.refused, "Fleet.PasswordFile=\(path) cannot be read: \(error.reason)") }
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    guard !line.isEmpty, line.count <= longestPassword else {
      throw FleetTrouble(
        .refused, "Fleet.PasswordFile=\(path) has no password of 1 to \(longestPassword) bytes in its first line")
    }
    return String(decoding: line, as: UTF8.self)
  }
}

/// Everything needed to connect: found anew for each attempt, since names, passwords and masters change.
struct ServerAccess: Sendable {
  let place: ServerPlace
  private let loggingIn: ServerLogin

  init(_ place: ServerPlace, _ login: ServerLogin) {
    self.place = place
    loggingIn = login
  }

  /// The command that logs in; nil where none is needed.
  var login: RedisCommand? { loggingIn.command }
}
