internal import CCurl
import Glibc
internal import ImgdSystem

enum NameAnswer: Sendable, Equatable {
  /// In the order in which they are to be tried; at least one.
  case addresses([IPAddress])
  /// The name does not exist, or has no address.
  case unknown
  /// The name servers could not be asked; the reason is for people.
  case failed(String)
  /// There is no descriptor, no memory or no thread for the look-up.
  case shortage(String)

  static let mostAddresses = 32

  /// Asks the system, which may take as long as its name servers take.
  static func fromSystem(_ name: String) -> NameAnswer {
    var wanted = unsafe addrinfo()
    unsafe wanted.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(name, nil, &wanted, &first)
    guard code == 0 else { return failure(code, errno: errno) }
    defer { unsafe freeaddrinfo(first) }
    var addresses: [IPAddress] = []
    var next = unsafe first
    while let entry = unsafe next, addresses.count < mostAddresses {
      if let socket = unsafe entry.pointee.ai_addr, let address = unsafe IPAddress(socket), !addresses.contains(address)
      {
        addresses.append(address)
      }
      unsafe next = unsafe entry.pointee.ai_next
    }
    return addresses.isEmpty ? .unknown : .addresses(addresses)
  }

  /// `EAI_NODATA`, which glibc declares for its own extensions only.
  private static let noAddress: CInt = -5

  private static func failure(_ code: CInt, errno: CInt) -> NameAnswer {
    let isShort = [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno)
    switch code {
    case EAI_NONAME, noAddress: return .unknown
    case EAI_MEMORY: return .shortage("out of memory")
    case EAI_SYSTEM where isShort: return unsafe .shortage(String(cString: strerror(errno)))
    default: return unsafe .failed(String(cString: gai_strerror(code)))
    }
  }
}
