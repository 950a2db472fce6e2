// A decoder for tests of its daemon. The name by which it is called says how it greets, and the text of each
// picture how it answers: it does so honestly, or breaks the rules in one way.

import CLinux
import CTestLinux
import Glibc
import ImgdDecode
import ImgdPicture
import ImgdSystem

@main struct LyingDecoder {
  static func main() {
    let name = CommandLine.arguments[0].split(separator: "/").last.map(String.init) ?? ""
    let channel = DecodeChannel(FileDescriptor(owning: SpawnedProgram.channel))
    greet(as: name, on: channel)
    while let order = channel.receiveOrder() { answer(order, on: channel) }
  }

  private static func greet(as name: String, on channel: borrowing DecodeChannel) {
    let socket = channel.descriptor.number
    switch name {
    case "finds-no-library": exit(127)
    case "ends": exit(3)
    case "says-nothing": sleepForEver()
    case "hangs-up":
      close(socket)
      sleepForEver()
    case "talks-nonsense": sendRaw([1, 2, 3], with: [], to: socket)
    case "has-no-filter": send([.limits, .files, .process], on: channel)
    case "greets-twice":
      send(.all, on: channel)
      send(.all, on: channel)
    default: send(.all, on: channel)
    }
  }

  private static func send(_ layers: DecoderAbilities.Layers, on channel: borrowing DecodeChannel) {
    let formats: Set<PictureFormat> = [.png]
    _ = channel.send(
      DecoderAbilities(layers: layers, reads: formats, writes: formats, library: "lies 1.0"))
  }

  private static func answer(_ order: DecodeOrder, on channel: borrowing DecodeChannel) {
    let socket = channel.descriptor.number
    let honest = picture([0, 1, 2, 3])
    let bytes = packet(of: honest, serial: order.serial)
    switch String(decoding: order.picture.bytes, as: UTF8.self) {
    case "fails":
      _ = channel.send(.failure(DecodeFailure(.damaged, "torn")), serial: order.serial)
    case "is silent": sleepForEver()
    case "exits": exit(3)
    case "ends": exit(0)
    case "crashes": raise(SIGSEGV)
    case "is killed": raise(SIGKILL)
    case "is terminated": raise(SIGTERM)
    case "hangs up":
      close(socket)
      sleepForEver()
    case "answers twice":
      for _ in 0..<2 { _ = channel.send(honest, serial: order.serial) }
    case "answers and greets":
      _ = channel.send(honest, serial: order.serial)
      send(.all, on: channel)
    case "answers and exits":
      _ = channel.send(honest, serial: order.serial)
      exit(0)
    case "answers another": _ = channel.send(honest, serial: order.serial + 1)
    case "makes a file": _ = channel.send(file, serial: order.serial)
    case "makes too little": _ = channel.send(picture([0, 1, 2]), serial: order.serial)
    case "talks nonsense": sendRaw([1, 2, 3], with: [], to: socket)
    case "talks too much":
      sendRaw(bytes + [UInt8](repeating: 0, count: 4_096), with: [], to: socket)
    case "says nothing at all": sendRaw([], with: [], to: socket)
    case "sends no memory": sendRaw(bytes, with: [], to: socket)
    case "sends a socket": sendRaw(bytes, with: [socket], to: socket)
    case "sends two":
      withMemory(of: honest) { sendRaw(bytes, with: [$0, $0], to: socket) }
    case "sends what can change": sendRaw(bytes, with: [loose(4)], to: socket)
    case "describes": _ = channel.send(description, serial: order.serial)
    default: _ = channel.send(honest, serial: order.serial)
    }
  }

  private static func sleepForEver() -> Never {
    while true { pause() }
  }

  // MARK: Answers

  /// One pixel, if there are four bytes.
  private static func picture(_ bytes: [UInt8]) -> DecodeAnswer {
    .picture(MadePicture(format: nil, width: 1, height: 1, frames: 1, content: memory(bytes)))
  }

  private static var file: DecodeAnswer {
    .picture(
      MadePicture(format: .png, width: 1, height: 1, frames: 1, content: memory([0, 1, 2, 3])))
  }

  private static var description: DecodeAnswer {
    .description(PictureDescription(thumbHash: [1, 2, 3], average: [4, 5, 6, 7]))
  }

  private static func memory(_ bytes: [UInt8]) -> Payload {
    do { return try Payload(bytes).shareable() } catch { fatalError("\(error)") }
  }

  private static func withMemory(of answer: DecodeAnswer, _ body: (CInt) -> Void) {
    guard case .picture(let made) = answer, let number = made.content.descriptor else { return }
    body(number)
    withExtendedLifetime(made) {}
  }

  /// A memfd that is not sealed.
  private static func loose(_ count: Int) -> CInt {
    let number = linux_memfd("loose")
    ftruncate(number, count)
    return number
  }

  // MARK: Lies

  /// The message that says this, to be sent with other descriptors.
  private static func packet(of answer: DecodeAnswer, serial: UInt64) -> [UInt8] {
    let packet = try? DecodeChannel.pair { near, far throws(SystemFailure) in
      _ = far.send(answer, serial: serial)
      var bytes = [UInt8](repeating: 0, count: 4_096)
      let count = recv(near.descriptor.number, &bytes, bytes.count, 0)
      return Array(bytes.prefix(max(count, 0)))
    }
    return packet ?? []
  }

  private static func sendRaw(_ bytes: [UInt8], with numbers: [CInt], to socket: CInt) {
    test_send(socket, bytes, UInt(bytes.count), numbers, CInt(numbers.count))
  }
}
