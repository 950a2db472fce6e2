// The process that decodes. In this order, it ties its life to its parent's, keeps no descriptor but the channel,
// loads the libraries and lets them read what they read only once, shuts itself off, reports what it can do, and
// takes orders. No bytes of strangers are read before it is shut off, and no file name means anything to it after.

import Glibc
import ImgdDecode
import ImgdSystem

/// The program imgd-decoder, which imgd starts.
package enum DecoderProgram {
  /// The exit codes; none of them is for people.
  private enum Ending: CInt {
    case done = 0
    /// The channel is not there, or not the daemon's.
    case unusable = 70
    case wrongUsage = 64
  }

  /// Runs until the daemon closes its end of the channel, and returns the exit code.
  package static func run() -> CInt {
    guard let start = DecoderStart(ProcessArguments.all) else {
      print("imgd-decoder is started by imgd.")
      return Ending.wrongUsage.rawValue
    }
    return serve(start).rawValue
  }

  private static func serve(_ start: DecoderStart) -> Ending {
    guard let channel = Sandbox.begin(channel: start.channel), VipsLibrary.start() else { return .unusable }
    let reads = FirstPictures.decode()
    let layers = Sandbox.shut(memory: start.memory)
    if let trial = start.trial {
      let outcome = trial.attempt()
      return channel.send(.failure(outcome), serial: 0) ? .done : .unusable
    }
    let abilities = DecoderAbilities(
      layers: layers, reads: reads, writes: Set(VipsLibrary.savers), library: VipsLibrary.version)
    guard channel.send(abilities) else { return .unusable }
    while let order = channel.receiveOrder() {
      let answer = DecodeWork.answer(order)
      guard channel.send(answer, serial: order.serial) else { return .unusable }
    }
    return .done
  }
}
