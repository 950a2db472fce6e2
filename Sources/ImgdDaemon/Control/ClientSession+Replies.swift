import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

extension ClientSession {
  /// Ends a command well, with what `content` adds.
  func reply(id: RequestID, _ content: (inout JSONWriter) -> Void) {
    write { line in
      line.beginReply(id: id, ok: true)
      content(&line)
      line.endReply()
    }
  }

  /// Ends a command with an error.
  func refuse(
    id: RequestID, receipt: ReceiptID?, _ error: WireError, http failure: FetchFailure? = nil
  ) {
    countError()
    write { line in
      line.failure(id: id, receipt: receipt, error) { line in
        guard let failure, let head = failure.head else { return }
        line.http(status: head.status, headers: head.pairs)
      }
    }
  }

  func write(_ reply: FetchReply) {
    write { reply.write(to: &$0) }
  }

  /// Tells how far a fetch is; told again only when that has changed.
  func writeProgress(of job: FetchJob, received: Int, expected: Int?) {
    guard job.lastProgress != received else { return }
    job.lastProgress = received
    write { line in
      line.beginEvent("progress", id: job.id, receipt: job.receipt)
      line.field("received", received)
      line.field("expected", expected)
      line.endReply()
    }
  }
}

extension JSONWriter {
  /// What the origin answered, as it is stored.
  mutating func http(status: Int, headers: HeaderList) {
    object("http") { line in
      line.field("status", status)
      line.object("headers") { line in
        for header in headers { line.field(header.name, header.value) }
      }
    }
  }
}
