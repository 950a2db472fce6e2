import ImgdConnection
import ImgdWire

/// Gets the small pictures of entries from the daemon, a few at a time.
struct Thumbnails {
  /// Enough requests to keep the decoders busy, and few enough that no other client waits.
  private static let mostUnderWay = 8

  private let entries: [Reply]
  private let size: Int
  private let connection: ControlConnection
  private let context: Context
  private var pictures: [SheetPicture?]

  init(of entries: [Reply], size: Int, _ connection: ControlConnection, _ context: Context) {
    self.entries = entries
    self.size = size
    self.connection = connection
    self.context = context
    pictures = Array(repeating: nil, count: entries.count)
  }

  /// The pictures in the order of their entries, without those that could not be made.
  mutating func all() throws(Failure) -> [SheetPicture] {
    guard !entries.isEmpty else { return [] }
    let format = try format()
    var asked = 0
    var answered = 0
    while answered < entries.count {
      while asked < entries.count, asked - answered < Self.mostUnderWay {
        connection.send(Request.fetch(request(asked, format)).line(id: .integer(Int64(asked))))
        asked += 1
      }
      try keep(try context.nextAnswer(over: connection).reply)
      answered += 1
    }
    return pictures.compactMap { $0 }
  }

  /// The smallest encoding that the daemon can write.
  private func format() throws(Failure) -> OutputFormat {
    let decoder = try context.ask(.hello, over: connection).reply.object("decode")
    let known = decoder?.texts("encodes") ?? []
    let formats: [OutputFormat] = [.webp, .jpeg, .png]
    guard let format = formats.first(where: { known.contains($0.rawValue) }) else {
      let note = decoder?.text("note").map { ": " + $0 } ?? ""
      throw Failure(.failed, "this daemon cannot make pictures small" + note)
    }
    return format
  }

  private func request(_ index: Int, _ format: OutputFormat) -> FetchRequest {
    let entry = entries[index]
    var fetch = FetchRequest(url: entry.text("url") ?? "")
    fetch.identifier = entry.text("identifier")
    // Looks into the cache without counting a use and without filling it.
    fetch.cache = .peek
    fetch.delivery = .inline
    fetch.priority = .low
    fetch.form = PictureForm(box: PictureForm.Box(width: size, height: size), format: format, frames: .first)
    return fetch
  }

  private mutating func keep(_ reply: Reply) throws(Failure) {
    guard let index = reply.id, entries.indices.contains(index) else { throw Failure(refusal: reply) }
    if reply.succeeded == true {
      pictures[index] = SheetPicture(entries[index], thumbnail: reply)
    } else if ReplyCode(rawValue: reply.errorCode ?? "") == .unavailable {
      throw Failure(refusal: reply)
    }
  }
}
