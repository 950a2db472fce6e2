import Glibc
import ImgdDecode
import ImgdSystem

/// A decoder that has been started and has not greeted yet.
final class StartedDecoder: Sendable {
  /// The daemon's end of the channel, which is closed when nobody holds it any more.
  final class Line: Sendable {
    let channel: DecodeChannel

    fileprivate init(_ channel: consuming DecodeChannel) { self.channel = channel }
  }

  let program: SpawnedProgram
  let line: Line

  /// Starts one that may use `memory` bytes of address space beyond its libraries.
  init(_ program: DecoderLocation, memory: Int) throws(FailedDecoderStart) {
    guard let path = program.path else { throw .missing(program) }
    let arguments = ["--channel", "\(SpawnedProgram.channel)", "--memory", "\(memory)"]
    do throws(SystemFailure) {
      (self.program, line) = try DecodeChannel.pair { near, far throws(SystemFailure) in
        let spawned = try SpawnedProgram(path, arguments, channel: far.descriptor)
        return (spawned, Line(near))
      }
    } catch { throw .system(error) }
  }
}

/// Why a decoder never became ready for orders.
struct FailedDecoderStart: Error, Equatable {
  let reason: String
  /// Whether a person has to do something about it first.
  let isLasting: Bool

  init(_ reason: String, isLasting: Bool = false) {
    self.reason = reason
    self.isLasting = isLasting
  }

  static func missing(_ program: DecoderLocation) -> FailedDecoderStart {
    let places = program.places.joined(separator: " or ")
    return FailedDecoderStart("the decoder is not installed: there is no program \(places)", isLasting: true)
  }

  /// A lack of memory or an excess of processes may pass soon; a file that cannot be executed stays so.
  static func system(_ failure: SystemFailure) -> FailedDecoderStart {
    FailedDecoderStart(
      "the decoder cannot start: \(failure)",
      isLasting: ![EAGAIN, ENOMEM, EMFILE, ENFILE, ETXTBSY].contains(failure.errno))
  }

  /// The decoder ended before it greeted. The program loader exits with 127 if it cannot find a library.
  static func ended(_ end: SpawnedProgram.End) -> FailedDecoderStart {
    guard end != .exited(127) else {
      return FailedDecoderStart("the decoder cannot start: is libvips installed?", isLasting: true)
    }
    return FailedDecoderStart("the decoder cannot start: it \(end.words)")
  }

  static func lacking(_ layers: DecoderAbilities.Layers) -> FailedDecoderStart {
    let all: [(layer: DecoderAbilities.Layers, name: String)] = [
      (.limits, "limits of its resources"), (.calls, "the filter of system calls (seccomp)"),
      (.files, "the lock of all files (Landlock)"), (.process, "the loss of all rights"),
    ]
    let names = all.filter { layers.contains($0.layer) }.map(\.name).joined(separator: ", ")
    return FailedDecoderStart(
      "the decoder's sandbox is incomplete: it lacks \(names) " + "(Decode.Sandbox=best-effort permits that)",
      isLasting: true)
  }
}

/// Where the decoder's program is looked for.
struct DecoderLocation: Sendable {
  static let name = "imgd-decoder"

  /// The paths to try: the first one that leads to a program is used.
  let places: [String]

  init(places: [String]) { self.places = places }

  /// Looks beside another program, and where packages put programs that nobody calls by name.
  init(beside executable: String) {
    guard let slash = executable.lastIndex(of: "/") else {
      places = []
      return
    }
    let directory = executable[..<slash]
    places = ["", "../lib/imgd/", "../libexec/imgd/"].map { "\(directory)/\($0)\(Self.name)" }
  }

  /// As seen from the daemon itself, even if its file has been replaced since it was started.
  static var ofDaemon: DecoderLocation { DecoderLocation(beside: ownPath) }

  var path: String? { places.first { unsafe access($0, X_OK) == 0 } }

  /// Empty without /proc.
  private static var ownPath: String {
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { room, filled in
      filled = unsafe room.withMemoryRebound(to: CChar.self) {
        guard let start = $0.baseAddress else { return 0 }
        return unsafe max(readlink("/proc/self/exe", start, $0.count), 0)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
