import ImgdConnection
import ImgdWire

/// A line of `--json`: the daemon's line without the `id`, which is imgctl's own, and with what imgctl adds.
struct JSONRecord {
  private var members: [JSONValue.Member]

  /// Begins with an answer or an event, or else with a success for which the daemon was not asked.
  init(_ answer: Answer?, _ order: FetchOrder, subject: String) {
    let all = answer?.reply.members ?? [JSONValue.Member("ok", .bool(true))]
    members = all.filter { $0.name != "id" }
    if !members.contains(where: { $0.name == subject }) { set(subject, .string(order.subject)) }
  }

  /// Sets a member in its place or at the end; nil changes nothing.
  mutating func set(_ name: String, _ value: JSONValue?) {
    guard let value else { return }
    let member = JSONValue.Member(name, value)
    if let place = members.firstIndex(where: { $0.name == name }) {
      members[place] = member
    } else {
      members.append(member)
    }
  }

  /// The line with its newline.
  var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.object(members)
    let text = withoutPasswords(String(decoding: writer.bytes, as: UTF8.self))
    return Array(text.utf8) + [UInt8(ascii: "\n")]
  }
}
