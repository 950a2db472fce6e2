import ImgdConnection
import ImgdSystem
import ImgdWire

enum DeliveredForm: String, CaseIterable {
  case path, bytes, pixels, none

  /// The value of `deliver`; nil for the usual one.
  var delivery: ImgdWire.Delivery? {
    switch self {
    case .path: nil
    case .bytes: .fd
    case .pixels: .pixels
    case .none: ImgdWire.Delivery.none
    }
  }

  var hasDescriptor: Bool { self == .bytes || self == .pixels }
}

/// Puts the pictures of a run where they belong.
struct Delivery {
  let form: DeliveredForm
  let destination: Destination
  var collision = OutputFile.Collision.refuse
  let style: RecordStyle

  /// Why a file cannot have the name that a list gives; nil if it can, or if no files are written.
  func problem(ofName name: String) -> String? {
    if case .directory = destination {
      return FileName.isBelow(name) ? nil : "'\(name)' is no name of a file below the directory"
    }
    return form == .none ? nil : "the name '\(name)' needs -o and a directory; a space in a URL is %20"
  }

  /// Why a URL cannot be asked for; nil if it can.
  var problemOfURL: String? {
    if case .thumbnails = destination { "this is no file: leave out --freedesktop" } else { nil }
  }

  /// The outcome of a picture whose file exists, if that is known before anything is asked for. In a directory a file
  /// has an extension, which is known only with the picture unless a list has given it.
  func outcomeBefore(_ order: FetchOrder) -> FetchOutcome? {
    if let thumbnail = order.thumbnail {
      return collision != .replace && thumbnail.isCurrent ? kept(order, nil, thumbnail.path) : nil
    }
    guard let path = knownPath(of: order), collision != .replace, OutputFile.isTaken(path) else { return nil }
    return collision == .keep ? kept(order, nil, path) : failure(order, nil, OutputFile.Problem.exists(path))
  }

  private func knownPath(of order: FetchOrder) -> String? {
    switch (destination, order.name) {
    case (.file(let path), _): path
    case (.directory, .given(let name)) where PictureName.kind(ofFile: name) != nil:
      destination.path(name: order.name, pathExtension: "")
    default: nil
    }
  }

  /// The outcome of a picture after the daemon's answer.
  func outcome(_ order: FetchOrder, _ answer: Answer, _ picture: SharedDescriptor?) -> FetchOutcome {
    let reply = answer.reply
    guard reply.succeeded == true else {
      return FetchOutcome(
        record: style.failure(order, answer), complaint: "\(order.subject): \(reply.complaint(about: order.subject))",
        exitCode: reply.exitCode, pause: reply.pause)
    }
    if reply.isNotModified { return notModified(order, answer) }
    guard form.hasDescriptor else { return named(order, answer) }
    guard let picture else {
      return failure(order, answer, code: "no_picture", "the daemon sent no picture with its answer", .failed)
    }
    let remark = form == .pixels && !style.isJSON ? geometry(order, reply) : nil
    guard let path = path(order, reply) else { return FetchOutcome(record: .picture(picture), remark: remark) }
    return store(picture, order, answer, path, remark)
  }

  /// Whether the picture goes into a pipe or a device, which may take it slowly or not at all.
  func mayBlock(_ order: FetchOrder, _ reply: Reply) -> Bool {
    guard form.hasDescriptor, reply.succeeded == true, !reply.isNotModified, let path = path(order, reply) else {
      return false
    }
    return OutputFile.isSpecial(path)
  }

  /// The format that the name of a picture's file asks for.
  func format(for order: FetchOrder) -> OutputFormat? {
    guard form == .bytes else { return nil }
    switch (destination, order.name) {
    case (.file(let name), _), (.directory, .given(let name)): return OutputFormat(ofFile: name)
    default: return nil
    }
  }

  /// A remark about a file whose format is not the one that its name promises.
  private func mismatch(_ order: FetchOrder, _ reply: Reply, _ path: String) -> String? {
    guard form == .bytes, let wanted = PictureName.kind(ofFile: path), let format = reply.text("format"),
      PictureName.kind(format) != wanted
    else { return nil }
    return "\(order.subject): \(path) is a \(format)"
  }

  private func path(_ order: FetchOrder, _ reply: Reply) -> String? {
    let pathExtension = form == .pixels ? "rgba" : PictureName.pathExtension(format: reply.text("format") ?? "")
    return order.thumbnail?.path ?? destination.path(name: order.name, pathExtension: pathExtension)
  }

  private func store(
    _ picture: SharedDescriptor, _ order: FetchOrder, _ answer: Answer, _ path: String, _ remark: String?
  ) -> FetchOutcome {
    do throws(OutputFile.Problem) {
      if case .given(let name) = order.name, case .directory(let directory) = destination {
        do throws(SystemFailure) { try NewDirectories.make(for: name, below: directory) } catch {
          throw OutputFile.Problem.failed(error)
        }
      }
      if let thumbnail = order.thumbnail {
        do throws(SystemFailure) { try thumbnail.write(picture.descriptor) } catch {
          throw OutputFile.Problem.failed(error)
        }
      } else if try OutputFile.write(picture.descriptor, to: path, collision) == .kept {
        return kept(order, answer, path)
      }
      return FetchOutcome(
        record: style.success(order, answer, text: path, file: path),
        remark: remark ?? mismatch(order, answer.reply, path))
    } catch { return failure(order, answer, error) }
  }

  private func kept(_ order: FetchOrder, _ answer: Answer?, _ path: String) -> FetchOutcome {
    FetchOutcome(record: style.success(order, answer, text: path, file: path, isSkipped: true))
  }

  private func failure(_ order: FetchOrder, _ answer: Answer?, _ problem: OutputFile.Problem) -> FetchOutcome {
    if case .exists = problem { return failure(order, answer, code: "file_exists", problem.description, .fileExists) }
    return failure(order, answer, code: "not_written", problem.description, .failed)
  }

  /// The outcome of a picture that imgctl itself could not ask for or could not write.
  func failure(_ order: FetchOrder, _ answer: Answer?, code: String, _ message: String, _ exitCode: ExitCode)
    -> FetchOutcome
  {
    FetchOutcome(
      record: style.failure(order, answer, own: (code, message)), complaint: "\(order.subject): \(message)",
      exitCode: exitCode)
  }

  /// A picture that stays with the daemon: the path of its file, or, where only the facts are wanted, a description.
  private func named(_ order: FetchOrder, _ answer: Answer) -> FetchOutcome {
    let reply = answer.reply
    // Without waiting, the answer to a fetch has a receipt and no picture.
    if reply.text("state") != nil, let receipt = reply.text("receipt") {
      return FetchOutcome(record: style.success(order, answer, text: receipt))
    }
    let text = form == .none ? description(order, reply) : reply.text("path")
    if let text { return FetchOutcome(record: style.success(order, answer, text: text)) }
    // In no file, though its path was asked for: nothing is printed where a path is expected.
    let reason = reply.text("deliver_note").map(Self.withoutRemedy) ?? "the daemon keeps none"
    return FetchOutcome(
      record: style.isJSON ? style.success(order, answer, text: "") : nil,
      complaint: "\(order.subject): in no file, since \(reason); imgctl fetch -o FILE writes one", exitCode: .noFile)
  }

  /// The reason without its advice to programs, which is to ask for a descriptor.
  private static func withoutRemedy(_ note: String) -> String {
    for remedy in [": use deliver fd", ", or use deliver fd"] where note.hasSuffix(remedy) {
      return String(note.dropLast(remedy.count))
    }
    return note
  }

  private func description(_ order: FetchOrder, _ reply: Reply) -> String {
    let (format, source) = (reply.text("format") ?? "?", reply.text("source") ?? "?")
    let size = "\(reply.number("width") ?? 0)x\(reply.number("height") ?? 0) \(reply.number("bytes") ?? 0) bytes"
    return withoutPasswords(printable("\(order.subject): \(format) \(size) (\(source))"))
  }

  /// A picture that the caller already has: there is nothing to write, and nothing to name.
  private func notModified(_ order: FetchOrder, _ answer: Answer) -> FetchOutcome {
    var record = style.success(order, answer, text: "-")
    if case .text(isListed: false, _) = style { record = nil }
    return FetchOutcome(record: record, remark: "\(order.subject): not modified")
  }

  private func geometry(_ order: FetchOrder, _ reply: Reply) -> String? {
    guard let pixels = reply.objects("fds")?.first, let width = pixels.number("width"),
      let height = pixels.number("height"), let stride = pixels.number("stride")
    else { return nil }
    return "\(order.subject): \(width)x\(height) stride \(stride)"
  }
}
