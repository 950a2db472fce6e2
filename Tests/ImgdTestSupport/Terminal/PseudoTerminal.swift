internal import CTestLinux
import Glibc

/// A terminal with a program in it, from the side of the person who types and reads.
package final class PseudoTerminal {
  /// A terminal's measures; one that does not know its pixels says zero.
  package struct Size {
    let columns: UInt16
    let rows: UInt16
    let pixels: (width: UInt16, height: UInt16)

    package init(
      columns: UInt16, rows: UInt16, pixels: (width: UInt16, height: UInt16) = (0, 0)
    ) {
      self.columns = columns
      self.rows = rows
      self.pixels = pixels
    }
  }

  private let master: CInt
  /// Kept open, so that the terminal's settings can be read when the program has ended.
  private let slave: CInt
  private let pid: pid_t
  private var unread: [UInt8] = []
  /// All that the program has written.
  package private(set) var received: [UInt8] = []

  /// Starts a program as the leader of a session of its own, with this terminal as all three streams.
  package init(
    _ size: Size = Size(columns: 80, rows: 24), environment: [String],
    command: [String]
  ) throws {
    var slave: CInt = -1
    master = test_open_terminal(&slave)
    guard master >= 0 else { throw TestFailure("no pseudoterminal: errno \(errno)") }
    self.slave = slave
    var measures = winsize(
      ws_row: size.rows, ws_col: size.columns, ws_xpixel: size.pixels.width,
      ws_ypixel: size.pixels.height)
    _ = ioctl(slave, UInt(TIOCSWINSZ), &measures)
    pid = try ChildProcess.spawn(
      "/usr/bin/setsid", ["--ctty", "/bin/sh", "-c", #"exec "$@" 2>&0"#, "sh"] + command,
      channel: slave, environment: environment)
  }

  deinit {
    kill(pid, SIGKILL)
    _ = ChildProcess.wait(pid)
    close(slave)
    close(master)
  }

  package func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(master, bytes, bytes.count)
  }

  /// Waits until the program has written a text; returns what it has written since the last wait, up to and with
  /// the text.
  @discardableResult
  package func waitFor(_ text: String) throws -> String {
    let wanted = Array(text.utf8)
    while true {
      if let end = unread.firstRange(of: wanted)?.upperBound {
        defer { unread.removeSubrange(..<end) }
        return String(decoding: unread[..<end], as: UTF8.self)
      }
      guard readMore(within: Patience.milliseconds) else {
        let shown = String(decoding: unread, as: UTF8.self).debugDescription
        throw TestFailure("the program never wrote \(text.debugDescription), but \(shown)")
      }
    }
  }

  /// Waits for the end of the program; its exit code, or minus the signal.
  package func waitForEnd() -> CInt {
    while ChildProcess.isRunning(pid) { _ = readMore(within: 20) }
    while readMore(within: 0) {}
    return ChildProcess.wait(pid)
  }

  /// Whether the terminal echoes and gathers lines, as a shell expects it.
  package var isCooked: Bool {
    var settings = termios()
    tcgetattr(slave, &settings)
    return settings.c_lflag & tcflag_t(ICANON) != 0 && settings.c_lflag & tcflag_t(ECHO) != 0
  }

  /// The bytes that were typed and that no program has read.
  package var typedAhead: Int {
    var settings = termios()
    tcgetattr(slave, &settings)
    settings.c_lflag &= ~tcflag_t(ICANON)
    tcsetattr(slave, TCSANOW, &settings)
    var count: CInt = 0
    _ = ioctl(slave, UInt(FIONREAD), &count)
    return Int(count)
  }

  private func readMore(within milliseconds: CInt) -> Bool {
    var readiness = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
    guard poll(&readiness, 1, milliseconds) > 0 else { return false }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(master, &bytes, bytes.count)
    guard count > 0 else { return false }
    unread += bytes[..<count]
    received += bytes[..<count]
    return true
  }
}

extension [UInt8] {
  fileprivate func firstRange(of part: [UInt8]) -> Range<Int>? {
    guard count >= part.count else { return nil }
    for start in 0...(count - part.count) where self[start...].starts(with: part) {
      return start..<(start + part.count)
    }
    return nil
  }
}
