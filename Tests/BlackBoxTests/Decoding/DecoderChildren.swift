import Glibc
import ImgdTestSupport

/// A process that a daemon has started, as the kernel tells of it.
struct DecoderChild: Hashable {
  let pid: pid_t
  let isZombie: Bool
  let niceness: Int
}

extension DaemonProcess {
  /// Its decoders, and what is left of those that it has not taken note of.
  var decoders: [DecoderChild] {
    TemporaryDirectory.names(in: "/proc").compactMap { name in
      guard let number = pid_t(name), let text = read("/proc/\(number)/stat"),
        let end = text.lastIndex(of: ")"), let start = text.firstIndex(of: "(")
      else { return nil }
      let fields = text[end...].split(separator: " ")
      guard fields.count > 17, pid_t(fields[2]) == pid, text[start..<end] == "(imgd-decoder" else {
        return nil
      }
      return DecoderChild(pid: number, isZombie: fields[1] == "Z", niceness: Int(fields[17]) ?? 0)
    }
  }

  /// How many descriptors it has open, but for stored pictures: some of those are kept open for a while.
  var descriptorsBesideFiles: Int {
    let directory = "/proc/\(pid)/fd"
    return TemporaryDirectory.names(in: directory).count { name in
      var target = [CChar](repeating: 0, count: 4_096)
      guard readlink("\(directory)/\(name)", &target, target.count - 1) > 0 else { return false }
      return !String(
        decoding: target.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self
      )
      .hasPrefix(cacheDirectory)
    }
  }

  /// Sends a signal to its decoders.
  func signalDecoders(_ number: CInt) {
    for decoder in decoders where !decoder.isZombie { Glibc.kill(decoder.pid, number) }
  }
}
