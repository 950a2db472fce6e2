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

/// What the daemon says on the command line: the channel's descriptor, and how much memory may be used.
struct DecoderStart: Equatable {
  /// Memory that is in use before the first order is not counted.
  static let usualMemory = 1 << 30

  let channel: CInt
  private(set) var memory = usualMemory
  /// Instead of orders: an attempt to leave the sandbox.
  private(set) var trial: SandboxTrial?

  /// Nil for anything but `--channel NUMBER [--memory BYTES] [--trial NAME]`.
  init?(_ words: [String]) {
    var values: [String: String] = [:]
    guard words.count % 2 == 0 else { return nil }
    for place in stride(from: 0, to: words.count, by: 2) {
      guard ["--channel", "--memory", "--trial"].contains(words[place]),
        values.updateValue(words[place + 1], forKey: words[place]) == nil
      else { return nil }
    }
    guard let channel = values["--channel"].flatMap({ CInt($0) }), channel > 2 else { return nil }
    self.channel = channel
    if let text = values["--memory"] {
      guard let memory = Int(text), memory > 0 else { return nil }
      self.memory = memory
    }
    if let name = values["--trial"] {
      guard let trial = SandboxTrial(rawValue: name) else { return nil }
      self.trial = trial
    }
  }
}
