import ImgdCache
import ImgdProgram
import ImgdSystem
import ImgdTransfer
import ImgdWire
import ImgdText

// The lines that every command ends with.

extension ReplyPlace {
  /// Ends a command successfully, with the fields that `content` adds.
  func reply(id: RequestID, _ content: (inout JSONWriter) -> Void) {
    write { line in
      ReplyEncoder.begin(id: id, ok: true, into: &line)
      content(&line)
      ReplyEncoder.end(into: &line)
    }
  }

  /// Ends a command with an error: with the URL of a fetch, and with the origin's answer where it is given.
  func refuse(
    id: RequestID, receipt: ReceiptID?, url: String? = nil, _ error: WireError, http head: ResponseHead? = nil
  ) {
    countError()
    write { line in
      ReplyEncoder.begin(id: id, ok: false, into: &line)
      if let receipt { line.field("receipt", receipt) }
      if let url { line.field("url", shownURL(url)) }
      ReplyEncoder.error(error, into: &line)
      if let head { line.http(status: head.status, headers: head.pairs) }
      ReplyEncoder.end(into: &line)
    }
  }

  /// Logs a change to everybody's cache, and the client that made it.
  func log(_ subject: Log.Subject, _ deed: String, _ fields: Log.Field...) {
    Log.notice(subject, "\(deed), for uid \(peer.uid), pid \(peer.pid)", fields + [.uid(peer.uid), .pid(peer.pid)])
  }
}

/// A URL as the request spelt it; one that was refused may hold a password, which is not repeated.
private func shownURL(_ url: String) -> String {
  guard url.utf8.contains(UInt8(ascii: "@")) else { return url }
  let isGood = (try? CanonicalURL.parse(url)) != nil
  return isGood ? url : withoutUserInfo(url)
}

extension JSONWriter {
  /// The origin's answer, as it is stored.
  mutating func http(status: Int, headers: HeaderList) {
    object("http") { line in
      line.field("status", status)
      line.object("headers") { line in
        for header in headers {
          line.name(header.name)
          line.value(header.value)
        }
      }
    }
  }
}
