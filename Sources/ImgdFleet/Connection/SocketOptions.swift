import Glibc

/// Options to set on a socket that hiredis has made.
enum SocketOptions {
  /// Seconds of silence before the kernel asks whether the other end is still there.
  private static let idle: CInt = 15
  private static let interval: CInt = 5
  private static let probes: CInt = 3
  /// Milliseconds for which bytes may stay unacknowledged.
  private static let patience: CInt = 5_000

  /// Keeps child processes from inheriting the socket, and ends a TCP connection to a machine that is gone.
  static func apply(to socket: CInt, isTCP: Bool) {
    _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
    guard isTCP else { return }
    set(SOL_SOCKET, SO_KEEPALIVE, 1, socket)
    set(CInt(IPPROTO_TCP), TCP_KEEPIDLE, idle, socket)
    set(CInt(IPPROTO_TCP), TCP_KEEPINTVL, interval, socket)
    set(CInt(IPPROTO_TCP), TCP_KEEPCNT, probes, socket)
    set(CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, patience, socket)
  }

  private static func set(_ level: CInt, _ option: CInt, _ value: CInt, _ socket: CInt) {
    var value = value
    // The kernel copies a number of four bytes.
    unsafe _ = setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
  }

  /// How an attempt to connect has ended; 0 for success.
  static func error(of socket: CInt) -> CInt {
    var code: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    guard unsafe getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else { return errno }
    return code
  }
}
