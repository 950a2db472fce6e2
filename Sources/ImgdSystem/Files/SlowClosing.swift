import Glibc

/// Closes descriptors on a thread of its own, if that may take long: with the last descriptor of a large
/// memfd the kernel frees its pages, and a loop that others wait for has no time for that.
enum SlowClosing {
  private static let waiting = Locked<[CInt]>([])
  /// Started with the first descriptor; nil if the system has no thread left.
  private static let thread = try? Thread(name: "imgd-closer") {
    while true { Glibc.close(waiting.wait { $0.popLast() }) }
  }

  static func close(_ number: CInt) {
    guard thread != nil else {
      Glibc.close(number)
      return
    }
    waiting.signal { $0.append(number) }
  }
}
