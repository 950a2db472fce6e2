import Glibc
import ImgdGateway
import ImgdSystem
import ImgdTestSupport
import ImgdWire

/// A daemon on the loop of a test, with the answers of a script, for one gateway.
final class StagedDaemon {
  /// The answer to a request: its fields, and a picture that comes with it.
  struct Answer {
    var fields: String
    var picture: [UInt8]?
    private(set) var isSilence = false

    init(_ fields: String, picture: [UInt8]? = nil) {
      self.fields = fields
      self.picture = picture
    }

    /// No answer at all.
    static var silence: Answer {
      var answer = Answer("")
      answer.isSilence = true
      return answer
    }

    static func refusal(_ code: String) -> Answer {
      Answer(#""ok":false,"error":{"code":"\#(code)","message":"no","retryable":false}"#)
    }
  }

  let link: DaemonLink
  private(set) var requests: [JSONValue] = []
  private let directory = TemporaryDirectory()
  private let loop: EventLoop
  private let script: (JSONValue) -> Answer
  private let listener: FileDescriptor
  private var client: Client?
  private var watches: [Watch] = []

  private final class Client {
    let socket: StreamSocket
    var outbox = Outbox()
    var framer = LineFramer()

    init(_ socket: consuming StreamSocket) { self.socket = socket }
  }

  init(on loop: EventLoop, _ script: @escaping (JSONValue) -> Answer) throws {
    self.loop = loop
    self.script = script
    let path = directory.path + "/s"
    listener = FileDescriptor(owning: try listen(at: path))
    link = DaemonLink(on: loop) { path }
    watches.append(
      try loop.watch(listener.number, for: .read) { [unowned self] _ in accept() })
  }

  deinit { for watch in watches { watch.cancel() } }

  /// The commands that have been asked for, without their other fields.
  var commands: [String] { requests.compactMap { $0["cmd"]?.string } }

  private func accept() {
    let number = Glibc.accept(listener.number, nil, nil)
    guard number >= 0, fcntl(number, F_SETFL, O_NONBLOCK) == 0 else { return }
    client = Client(StreamSocket(FileDescriptor(owning: number)))
    let watch = try? loop.watch(number, for: .read) { [unowned self] _ in serve() }
    if let watch { watches.append(watch) }
  }

  private func serve() {
    guard let client else { return }
    let scratch = ReadScratch()
    guard case .bytes(let count) = client.socket.read(into: scratch) else {
      watches.removeLast().cancel()
      self.client = nil
      return
    }
    var lines: [String] = []
    scratch.withBytes(count) { bytes in
      client.framer.feed(bytes) { finding in
        guard case .line(let line) = finding else { return .next }
        lines.append(line.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) })
        return .next
      }
    }
    for line in lines { answer(line, to: client) }
    _ = client.outbox.send(to: client.socket)
  }

  private func answer(_ line: String, to client: Client) {
    guard let request = try? JSONValue(parsing: line) else { return }
    requests.append(request)
    let answer = script(request)
    guard !answer.isSilence else { return }
    if let picture = answer.picture,
      let file = try? Payload(picture).shareable().openReadOnly()
    {
      client.outbox.attach(file)
    }
    let id = request["id"].map { "\"id\":" + $0.encoded() + "," } ?? ""
    let fields =
      answer.fields.hasPrefix("\"ok\":false")
      ? answer.fields : "\"ok\":true" + (answer.fields.isEmpty ? "" : "," + answer.fields)
    client.outbox.bytes += Array("{\(id)\(fields)}\n".utf8)
  }
}
