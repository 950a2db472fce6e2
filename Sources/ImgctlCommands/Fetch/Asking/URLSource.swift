import Glibc
import ImgdSystem
import ImgdWire

/// The URLs of a run in their order, from arguments and from lists.
final class URLSource {
  static let input = VerbOption(
    "input", "i", .file("FILE"),
    help: "read URLs from a file, one on each line, with names for their files if wanted; - is standard input")

  private enum Part {
    case step(URLInput.Step)
    case list(URLInput)
  }

  /// How many URLs there are; nil if that is known only at the end of a list.
  let count: Int?
  private var parts: ArraySlice<Part>

  /// Reads the operands, among which `-` stands for standard input, and then the list that `--input` names.
  init(_ arguments: Arguments, console: Console, on loop: EventLoop) throws(SystemFailure) {
    let (operands, list) = (arguments.operands, arguments.text("input"))
    var parts: [Part] = []
    for operand in operands {
      if operand == "-" {
        parts.append(.list(try URLInput("-", console: console, on: loop)))
      } else {
        parts += URLInput.Step.all(of: operand).map { .step($0) }
      }
    }
    if let list { parts.append(.list(try URLInput(list, console: console, on: loop))) }
    self.parts = parts[...]
    count = Self.count(arguments).map { _ in parts.count }
  }

  /// How many operands there are; nil if that is known only at the end of a list.
  static func count(_ arguments: Arguments) -> Int? {
    arguments.has("input") || arguments.operands.contains("-") ? nil : arguments.operands.count
  }

  static func check(_ arguments: Arguments, of verb: VerbDescription) throws(UsageProblem) {
    if arguments.operands.isEmpty, !arguments.has("input") {
      throw UsageProblem("\(verb.name) needs a URL, - for URLs from standard input, or --input and a file with URLs")
    }
  }

  /// The next URL; `onArrival` is called once when it is worth asking again after `.waiting`.
  func next(onArrival: @escaping () -> Void) throws(SystemFailure) -> URLInput.Step {
    while let part = parts.first {
      switch part {
      case .step(let step):
        parts.removeFirst()
        return step
      case .list(let input):
        let step = try input.next(onArrival: onArrival)
        guard case .end = step else { return step }
        parts.removeFirst()
      }
    }
    return .end
  }
}

// A list may come from a pipe whose other end writes a line now and then, so it is read as it arrives and no further
// than is needed. Not every descriptor can be watched: the kernel refuses regular files, where reading never waits.
// These are read when a line is wanted.

/// A list of URLs, one on each line, that is read bit by bit.
final class URLInput {
  enum Step {
    /// A URL, and the name that the list gives to its file.
    case url(String, name: String?)
    /// The path of a file of the user's, likewise. What only lies in a directory that was named may be no picture.
    case file(String, name: String?, isInDirectory: Bool = false)
    /// A line that cannot be a URL, in a sentence.
    case refused(String)
    /// Nothing has arrived; the next step comes after the wait.
    case waiting
    case end

    /// What a word stands for: a URL, or files.
    static func all(of word: String) -> [Step] {
      let isInDirectory = NewDirectories.isDirectory(word)
      return LocalFile.paths(word)?.map { .file($0, name: nil, isInDirectory: isInDirectory && $0 != word) }
        ?? [.url(word, name: nil)]
    }
  }

  private static let longestLine = WireLimits.standard.line
  /// Some systems put it at the beginning of UTF-8 text.
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private let name: String
  private let file: FileDescriptor?
  private let number: CInt
  private let loop: EventLoop
  private var framer = LineFramer(longestLine: longestLine)
  private var lines = Fifo<Step>()
  /// The part that has arrived of a possible byte order mark at the beginning; nil once that is read.
  private var beginning: [UInt8]? = []
  private var hasEnded = false
  private var watch: Watch?

  /// Opens a file; `-` stands for standard input.
  init(_ path: String, console: Console, on loop: EventLoop) throws(SystemFailure) {
    self.loop = loop
    if path == "-" {
      name = "standard input"
      file = nil
      number = console.input
    } else {
      let opened = try FileDescriptor(opening: path, O_RDONLY)
      name = path
      number = opened.number
      file = consume opened
    }
  }

  deinit { stopWaiting() }

  /// The next line; `onArrival` is called once when it is worth asking again after `.waiting`.
  func next(onArrival: @escaping () -> Void) throws(SystemFailure) -> Step {
    while true {
      if let line = lines.popFirst() { return line }
      if hasEnded { return .end }
      guard watch == nil else { return .waiting }
      if waits(onArrival) { return .waiting }
      try read()
    }
  }

  /// Begins to wait for bytes; false if reading would not wait, or if the descriptor cannot be watched.
  private func waits(_ onArrival: @escaping () -> Void) -> Bool {
    if isAtHand { return false }
    do throws(SystemFailure) {
      watch = try loop.watch(number, for: .read) { [input = Unowned(self)] _ in
        // A watch without interest would still report the end, again and again.
        input.object.stopWaiting()
        onArrival()
      }
      return true
    } catch { return false }
  }

  private func stopWaiting() { watch.take()?.cancel() }

  /// Whether reading would not wait.
  private var isAtHand: Bool {
    var interest = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&interest, 1, 0) > 0
  }

  private func read() throws(SystemFailure) {
    let bytes = try FileDescriptor.part(1 << 16, from: number, of: name)
    hasEnded = bytes.isEmpty
    let text = withoutMark(bytes)
    framer.feed(text.span) { append($0) }
    if hasEnded { _ = framer.finish { append($0) } }
  }

  /// The next bytes, without a mark at the beginning, which may arrive in pieces.
  private func withoutMark(_ bytes: [UInt8]) -> [UInt8] {
    guard let before = beginning else { return bytes }
    let all = before + bytes
    if !hasEnded, all.count < Self.byteOrderMark.count, Self.byteOrderMark.starts(with: all) {
      beginning = all
      return []
    }
    beginning = nil
    return all.starts(with: Self.byteOrderMark) ? Array(all.dropFirst(Self.byteOrderMark.count)) : all
  }

  private func append(_ finding: borrowing LineFramer.Finding) -> LineFramer.Flow {
    switch finding {
    case .line(let line): for step in steps(in: line) { lines.append(step) }
    case .tooLong: lines.append(.refused("a line of \(name) is longer than \(Self.longestLine) bytes: it is no URL"))
    }
    return .next
  }

  /// The files that a line stands for, or a URL or a path, and after a blank the name of its file.
  private func steps(in line: Span<UInt8>) -> [Step] {
    // The bytes are copied before the framer takes in more.
    let text = unsafe line.withUnsafeBufferPointer { unsafe Array($0) }[...].trimmed(of: " \t\r")
    // The system would take what is before it for the whole name of a file.
    guard !text.contains(0) else {
      return [.refused("a line of \(self.name) has a NUL in it: end each name with a newline")]
    }
    let url = text.prefix { !" \t\r".utf8.contains($0) }
    let name = text[url.endIndex...].trimmed(of: " \t\r")
    let given = name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
    let word = String(decoding: url, as: UTF8.self)
    if let given {
      // The name of a file may have blanks.
      let whole = String(decoding: text, as: UTF8.self)
      if LocalFile.exists(whole) { return [.file(whole, name: nil)] }
      return [LocalFile.paths(word) == nil ? .url(word, name: given) : .file(word, name: given)]
    }
    return Step.all(of: word)
  }
}
