import Glibc
internal import ImgdSystem

/// An address that needs no look-up.
enum ServerPlace: Sendable, Equatable {
  case unix(path: String)
  case tcp(address: String, port: Int)
  /// `serverName` is the host as the configuration names it.
  case tls(address: String, port: Int, serverName: String, TLSSettings)
}

/// Everything needed to connect: found anew for each attempt, since names and passwords change.
struct ServerAccess: Sendable, Equatable {
  let place: ServerPlace
  let user: String?
  let password: String?

  /// The command that logs in; nil without a user and a password.
  var login: RedisCommand? {
    guard user != nil || password != nil else { return nil }
    var command = RedisCommand("AUTH")
    if let user { command.add(user) }
    command.add(password ?? "")
    return command
  }

  /// A longer line is not a password.
  private static let longestPassword = 1024

  /// Asks the system and the disk, which may take any time: not to be called on a loop.
  static func find(_ settings: FleetSettings) -> Result<ServerAccess, FleetTrouble> {
    Result { () throws(FleetTrouble) in
      ServerAccess(
        place: try place(of: settings.server), user: settings.user,
        password: try settings.passwordFile.map { file throws(FleetTrouble) in try password(in: file) })
    }
  }

  /// Whether `find` returns without waiting for anything.
  static func isAtHand(_ settings: FleetSettings) -> Bool {
    guard settings.passwordFile == nil else { return false }
    if case .tcp(let host, _) = settings.server { return isAddress(host) }
    return true
  }

  // MARK: The password

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

  // MARK: The address

  private static func place(of server: FleetSettings.Server) throws(FleetTrouble) -> ServerPlace {
    switch server {
    case .unix(let path): return .unix(path: path)
    case .tcp(let host, let port): return .tcp(address: isAddress(host) ? host : try address(of: host), port: port)
    }
  }

  private static func isAddress(_ host: String) -> Bool {
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
      throw FleetTrouble(.down, unsafe "its name is not found: \(String(cString: gai_strerror(code)))")
    }
    defer { unsafe freeaddrinfo(first) }
    var room = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let outcome = unsafe getnameinfo(
      entry.pointee.ai_addr, entry.pointee.ai_addrlen, &room, socklen_t(room.count), nil, 0, NI_NUMERICHOST)
    guard outcome == 0 else {
      throw FleetTrouble(.down, unsafe "its address is of no use: \(String(cString: gai_strerror(outcome)))")
    }
    return String(decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
