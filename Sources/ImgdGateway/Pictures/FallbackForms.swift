import ImgdConnection
import ImgdSystem
internal import ImgdWire

/// The forms of fallback pictures that this thread was asked for lately. The daemon copies what it is handed: it is
/// handed a picture once for each form, however many requests fail.
final class FallbackForms {
  private final class Form {
    let picture: FallbackPicture
    let form: PictureForm
    /// The daemon's answer; nil while it makes the form.
    var made: (reply: Reply, contents: Payload)?
    var waiting: [(DaemonAnswer?) -> Void] = []

    init(_ picture: FallbackPicture, _ form: PictureForm) {
      self.picture = picture
      self.form = form
    }

    /// The answer for one request, with a descriptor of its own; nil if there is none.
    var answer: DaemonAnswer? {
      guard let made, let file = try? made.contents.openReadOnly() else { return nil }
      return DaemonAnswer(made.reply, file)
    }
  }

  /// Each holds a descriptor.
  static let most = 16

  private let link: DaemonLink
  /// The oldest first.
  private var forms: [Form] = []

  init(link: DaemonLink) { self.link = link }

  /// Gives the picture in the form of a request that has failed; nil if it cannot be made.
  func show(
    _ picture: FallbackPicture, inPlaceOf failed: FetchRequest, within limit: Duration,
    _ done: @escaping (DaemonAnswer?) -> Void
  ) {
    if let known = forms.first(where: { $0.picture === picture && $0.form == failed.form }) {
      if known.made == nil { known.waiting.append(done) } else { done(known.answer) }
      return
    }
    if forms.count == Self.most {
      guard let oldest = forms.firstIndex(where: { $0.made != nil }) else { return done(nil) }
      forms.remove(at: oldest)
    }
    let form = Form(picture, failed.form)
    form.waiting.append(done)
    forms.append(form)
    var request = FetchRequest(url: FetchRequest.descriptorURL)
    request.delivery = .fd
    request.form = failed.form
    request.extras.share = failed.share
    request.extras.timeoutMilliseconds = failed.timeoutMilliseconds
    link.ask(.fetch(request), with: picture.contents, within: limit) { [unowned self] in settle(form, $0) }
  }

  private func settle(_ form: Form, _ outcome: DaemonLink.Outcome) {
    if let answer = try? outcome.get(), PictureFacts(answer.reply) != nil, let file = answer.takeDescriptor(),
      let contents = Payload.adopt(file)
    {
      form.made = (answer.reply, contents)
    } else {
      forms.removeAll { $0 === form }
    }
    let waiting = form.waiting
    form.waiting = []
    for done in waiting { done(form.answer) }
  }
}
