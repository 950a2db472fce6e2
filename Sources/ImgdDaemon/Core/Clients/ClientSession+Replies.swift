import ImgdCache
import ImgdSystem
import ImgdTransfer
import ImgdWire

extension ClientSession {
  /// Ends a command well, with what `content` adds.
  func reply(id: RequestID, _ content: (inout JSONWriter) -> Void) {
    write { line in
      ReplyEncoder.begin(id: id, ok: true, into: &line)
      content(&line)
      ReplyEncoder.end(into: &line)
    }
  }

  /// Ends a command with an error.
  func refuse(
    id: RequestID, receipt: ReceiptID?, _ error: WireError, http failure: FetchFailure? = nil
  ) {
    countError()
    write { line in
      ReplyEncoder.begin(id: id, ok: false, into: &line)
      if let receipt { line.field("receipt", receipt) }
      ReplyEncoder.error(error, into: &line)
      if let head = failure?.head { line.http(status: head.status, headers: head.pairs) }
      ReplyEncoder.end(into: &line)
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
      ReplyEncoder.begin(id: job.id, event: "progress", receipt: job.receipt, into: &line)
      line.field("received", received)
      line.field("expected", expected)
      ReplyEncoder.end(into: &line)
    }
  }
}

extension ClientSession {
  /// Lets a command wait for what is not known yet: a connection is not idle meanwhile.
  func standBy(id: RequestID, receipt: ReceiptID? = nil) -> StandingCommands.Ticket {
    standing.add(StandingCommands.Command(id: id, receipt: receipt))
  }

  /// Ends the waiting of a command with its answer, unless nobody is there to hear it, or it has been
  /// refused meanwhile.
  func resume(_ ticket: StandingCommands.Ticket, _ answer: () -> Void) {
    guard isOpen, standing.take(ticket) else { return }
    answer()
    workEnded()
  }

  /// Whether one more command may stand by.
  var hasRoomToStandBy: Bool { standing.count < limits.receipts }

  /// Ends the waiting of all commands.
  func refuseStanding(_ error: WireError) {
    for command in standing.takeAll() {
      refuse(id: command.id, receipt: command.receipt, error)
    }
    workEnded()
  }

  /// Notes what somebody did to everybody's cache, and who it was.
  func log(_ subject: Log.Subject, _ deed: String, _ fields: Log.Field...) {
    Log.notice(
      subject, "\(deed), for uid \(peer.uid), pid \(peer.pid)",
      fields + [.uid(peer.uid), .pid(peer.pid)])
  }
}

extension JSONWriter {
  /// What the origin answered, as it is stored.
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
