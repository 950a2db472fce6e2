import Glibc
import ImgdTestSupport

/// What the daemon's disk and clock are to do, as interposer.c reads it.
final class Interposer: @unchecked Sendable {
  // Unchecked: each order is one write to memory that is shared with another process.
  enum Disk: UInt32 { case well, writesFail, quotaExceeded, readsFail }

  let path: String
  private let orders: UnsafeMutableRawPointer
  private static let size = 32

  init(in directory: String) throws {
    path = directory + "/faults"
    try write([UInt8](repeating: 0, count: Self.size), to: path)
    let file = open(path, O_RDWR | O_CLOEXEC)
    defer { close(file) }
    guard let map = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), map != MAP_FAILED else {
      throw TestFailure("\(path): errno \(errno)")
    }
    orders = map
  }

  deinit { munmap(orders, Self.size) }

  /// The file system whose files fail.
  func name(deviceOf directory: String) {
    let device = CacheFiles.status(of: directory)?.st_dev ?? 0
    orders.storeBytes(of: UInt64(device), toByteOffset: 0, as: UInt64.self)
  }

  func set(clockAhead seconds: Int64) { orders.storeBytes(of: seconds, toByteOffset: 8, as: Int64.self) }

  func set(_ disk: Disk) { orders.storeBytes(of: disk.rawValue, toByteOffset: 24, as: UInt32.self) }

  /// How many calls have failed.
  var failed: Int { Int(orders.load(fromByteOffset: 16, as: UInt64.self)) }
}
