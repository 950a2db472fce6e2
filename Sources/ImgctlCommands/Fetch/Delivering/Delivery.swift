import ImgdConnection
import ImgdSystem

/// The form in which pictures come from the daemon.
enum DeliveredForm: String, CaseIterable {
  case path, bytes, pixels, none

  /// The value of `deliver`; nil for the usual one.
  var field: String? {
    switch self {
    case .path: nil
    case .bytes: "fd"
    case .pixels: "pixels"
    case .none: "none"
    }
  }

  /// Whether a descriptor comes with the answer.
  var hasDescriptor: Bool { self == .bytes || self == .pixels }
}

extension Reply {
  /// Whether the daemon answers a condition with a word in place of a picture.
  var isNotModified: Bool { flag("not_modified") == true }
}

/// Puts the pictures of a run where they belong.
struct Delivery {
  let form: DeliveredForm
  let destination: Destination
  let collision: OutputFile.Collision
  let style: RecordStyle

  /// The outcome of a picture whose file exists, where that is known before anything is asked for. The name of a
  /// file in a directory has an extension, which is known with the picture.
  func outcomeBefore(_ order: FetchOrder) -> FetchOutcome? {
    guard case .file(let path) = destination, collision != .replace, OutputFile.isTaken(path) else {
      return nil
    }
    return collision == .keep
      ? kept(order, nil, path) : failure(order, nil, OutputFile.Problem.exists(path))
  }

  /// The outcome of a picture that the daemon has answered for.
  func outcome(_ order: FetchOrder, _ answer: Answer, _ picture: HeldPicture?) -> FetchOutcome {
    let reply = answer.reply
    guard reply.succeeded == true else {
      return FetchOutcome(
        record: style.failure(order, answer), complaint: "\(order.subject): \(reply.complaint)",
        exitCode: reply.exitCode)
    }
    if reply.isNotModified { return notModified(order, answer) }
    guard form.hasDescriptor else { return named(order, answer) }
    guard let picture else {
      return failure(
        order, answer, code: "no_picture", "the daemon sent no picture with its answer", .failed)
    }
    let remark = form == .pixels && !style.isJSON ? geometry(order, reply) : nil
    guard let path = path(order, reply) else {
      return FetchOutcome(record: .picture(picture), remark: remark)
    }
    return store(picture, order, answer, path, remark)
  }

  /// Whether the picture goes into a pipe or a device, which may take it slowly or not at all.
  func mayBlock(_ order: FetchOrder, _ reply: Reply) -> Bool {
    guard form.hasDescriptor, reply.succeeded == true, !reply.isNotModified,
      let path = path(order, reply)
    else {
      return false
    }
    return OutputFile.isSpecial(path)
  }

  private func path(_ order: FetchOrder, _ reply: Reply) -> String? {
    let pathExtension =
      form == .pixels
      ? "rgba" : PictureName.pathExtension(format: reply.text("format") ?? "")
    return destination.path(name: order.name, pathExtension: pathExtension)
  }

  private func store(
    _ picture: HeldPicture, _ order: FetchOrder, _ answer: Answer, _ path: String,
    _ remark: String?
  ) -> FetchOutcome {
    do throws(OutputFile.Problem) {
      let outcome = try picture.use { picture throws(OutputFile.Problem) in
        try OutputFile.write(picture, to: path, collision)
      }
      guard outcome == .written else { return kept(order, answer, path) }
      return FetchOutcome(
        record: style.success(order, answer, text: path, file: path), remark: remark)
    } catch { return failure(order, answer, error) }
  }

  private func kept(_ order: FetchOrder, _ answer: Answer?, _ path: String) -> FetchOutcome {
    FetchOutcome(
      record: style.success(order, answer, text: path, file: path, isSkipped: true))
  }

  private func failure(
    _ order: FetchOrder, _ answer: Answer?, _ problem: OutputFile.Problem
  ) -> FetchOutcome {
    if case .exists = problem {
      return failure(order, answer, code: "file_exists", problem.description, .fileExists)
    }
    return failure(order, answer, code: "not_written", problem.description, .failed)
  }

  /// The outcome of a picture that imgctl itself could not ask for or put in its place.
  func failure(
    _ order: FetchOrder, _ answer: Answer?, code: String, _ message: String, _ exitCode: ExitCode
  ) -> FetchOutcome {
    FetchOutcome(
      record: style.failure(order, answer, own: (code, message)),
      complaint: "\(order.subject): \(message)", exitCode: exitCode)
  }

  /// A picture that stays with the daemon: the path of its file, or a description of one that is in no file.
  private func named(_ order: FetchOrder, _ answer: Answer) -> FetchOutcome {
    let reply = answer.reply
    var text = reply.text("path") ?? description(order, reply)
    // The answer to a fetch that is not waited for has nothing else.
    if reply.text("state") != nil, let receipt = reply.text("receipt") { text = receipt }
    if case .text(isListed: true, _) = style, reply.text("path") == nil,
      reply.text("state") == nil
    {
      text = "-"
    }
    return FetchOutcome(record: style.success(order, answer, text: text))
  }

  private func description(_ order: FetchOrder, _ reply: Reply) -> String {
    let size = "\(reply.number("width") ?? 0)x\(reply.number("height") ?? 0)"
    let bytes = reply.number("bytes") ?? 0
    let format = reply.text("format") ?? "?"
    let source = reply.text("source") ?? "?"
    return withoutPasswords(
      printable("\(order.subject): \(format) \(size) \(bytes) bytes (\(source))"))
  }

  /// A picture that whoever asks has already: there is nothing to write, and nothing to name.
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
