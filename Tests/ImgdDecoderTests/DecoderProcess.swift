import Glibc
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport

/// A running imgd-decoder, and the daemon's end of its channel.
final class DecoderProcess {
  private let pid: pid_t
  private var daemon: DecodeChannel?
  private var number: CInt = -1

  init(_ arguments: [String] = [], environment: [String] = ["PATH=/bin"]) throws {
    var ends: (daemon: CInt, decoder: CInt) = (-1, -1)
    try DecodeChannel.pair { (daemon, decoder) throws(SystemFailure) in
      ends = (dup(daemon.descriptor.number), dup(decoder.descriptor.number))
    }
    let decoder = FileDescriptor(owning: ends.decoder)
    number = ends.daemon
    daemon = DecodeChannel(FileDescriptor(owning: ends.daemon))
    pid = try ChildProcess.spawn(
      BuiltProduct.path(of: "imgd-decoder"), ["--channel", "3"] + arguments,
      environment: environment, descriptors: [decoder.number])
    // Or the copy that a program of another test inherits would keep the channel open.
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
  }

  deinit {
    kill(pid, SIGKILL)
    _ = ChildProcess.wait(pid)
  }

  /// The next message, which is waited for.
  func next() -> DecodeChannel.Arrival {
    var interest = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    while poll(&interest, 1, -1) < 0, errno == EINTR {}
    return daemon?.receive() ?? .end
  }

  func abilities() throws -> DecoderAbilities {
    guard case .abilities(let abilities) = next() else { throw TestFailure("no greeting") }
    return abilities
  }

  /// Nil when the process has ended instead.
  func answer(
    _ file: [UInt8], _ format: PictureFormat, _ rendition: Rendition = Rendition(.pixels),
    serial: UInt64 = 1, limits: DecodeLimits = DecodeLimits(pixels: 20_000_000)
  ) throws -> DecodeAnswer? {
    let order = DecodeOrder(
      serial: serial, format: format, picture: try Payload(file).shareable(),
      rendition: rendition, limits: limits)
    guard daemon?.send(order) == true else { return nil }
    guard case .answer(let answer, serial) = next() else { return nil }
    return answer
  }

  func send(_ bytes: [UInt8], with numbers: [CInt] = []) {
    _ = ImgdTestSupport.send(bytes, with: numbers, to: number)
  }

  func close() { daemon = nil }

  /// The exit code, or minus the signal.
  func end() -> CInt {
    var info = siginfo_t()
    while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    return info.si_code == CInt(CLD_EXITED)
      ? info._sifields._sigchld.si_status : -info._sifields._sigchld.si_status
  }
}
