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
