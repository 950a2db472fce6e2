import ImgdWire

/// An answer with a list, made in steps and written when it is whole: lines that other requests of the
/// client get meanwhile must not come between.
///
/// It ends with a cursor where it would be longer than what a client may leave unread.
final class ListAnswer {
  private let client: ReplyPlace
  private let mostBytes: Int
  private var line = JSONWriter()
  private var left: Int

  init(_ name: StaticString, of page: PageRequest, id: RequestID, to client: ReplyPlace) {
    self.client = client
    mostBytes = client.limits.unsentOutput
    left = page.limit
    ReplyEncoder.begin(id: id, ok: true, into: &line)
    line.beginArray(name)
  }

  /// How many elements there is still room for.
  var room: Int { line.bytes.count < mostBytes ? left : 0 }

  func add(_ describe: (inout JSONWriter) -> Void) {
    left -= 1
    line.object(describe)
  }

  /// Writes the answer; `cursor` is where the next page begins, nil at the end of the list.
  func finish(cursor: String?) {
    line.endArray()
    line.field("cursor", cursor)
    ReplyEncoder.end(into: &line)
    client.write { [line] in $0.bytes.append(contentsOf: line.bytes) }
  }
}
