@testable import ImgdCache
@testable import ImgdGateway
@testable import ImgdSystem
@testable import ImgdWire

extension FuzzTarget {
  /// Targets of the gateway, in both forms. What is admitted is a request that the daemon takes; a signature opens
  /// exactly the target that it was made of. imgproxy's rules, written down in Python, are the oracle of the path form.
  static let targets = FuzzTarget(
    "targets",
    of: [
      "ImgdGateway/Requests/PathForm.swift", "ImgdGateway/Requests/PathOptions.swift",
      "ImgdGateway/Requests/PictureTarget.swift", "ImgdGateway/Requests/PathGravity.swift",
      "ImgdGateway/Requests/WantedForm.swift", "ImgdGateway/Requests/PictureAccess.swift",
    ], longest: 256, show: show
  ) { bytes in
    guard let text = String(validating: bytes, as: UTF8.self), text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      return
    }
    let parsed: ParsedRequest
    do throws(GatewayError) {
      guard let request = try PictureTarget.parse(text) else { return }
      parsed = request
    } catch { return checkRefusal(error) }
    checkAdmission(parsed)
    checkSignature(parsed)
    for word in text.split(separator: "/") { checkPreset(String(word)) }
  }

  private static func checkRefusal(_ error: GatewayError) {
    expect((400...499).contains(error.status), "what a client sends wrongly is the client's fault")
    expect(!error.message.isEmpty && error.message.utf8.count < 2_000, "a message has a sentence, and no book")
  }

  private static func checkAdmission(_ parsed: ParsedRequest) {
    var open = parsed
    if open.signature != nil {
      open = ParsedRequest(
        parsed.layers, parsed.source, parsed.disposition, expires: parsed.expires, signature: nil,
        signedText: parsed.signedText[...])
      open.asksForFacts = parsed.asksForFacts
    }
    do throws(GatewayError) {
      let request = try openAccess.admit(open, now: 100)
      expect(request.expires ?? 100 >= 100, "what has expired is refused")
      let formats = request.negotiatesFormat ? AcceptedFormats([]).formats : request.form.formats
      let line = Request.fetch(request.fetch(as: formats, timeout: .seconds(30))).line()
      let read = RequestParser.parse(line.span)
      switch read.outcome {
      case .request(.fetch(let fetch)):
        expect(fetch.url == request.url && fetch.form.box == request.form.box, "the daemon reads the same request")
      case .refused(let error): expect(error.code == .badURL, "the daemon takes what is admitted: \(error)")
      default: fatalError("a picture is fetched")
      }
    } catch { checkRefusal(error) }
    let isOpen = (try? narrowAccess.admit(open, now: 0)) != nil
    let name = open.source.host.name
    expect(!isOpen || name == "example.org" || name.hasSuffix(".example.org"), "no other host is open")
  }

  private static func checkSignature(_ parsed: ParsedRequest) {
    func request(_ signature: String) -> ParsedRequest {
      var request = ParsedRequest(
        parsed.layers, parsed.source, parsed.disposition, expires: parsed.expires, signature: signature,
        signedText: parsed.signedText[...])
      request.asksForFacts = parsed.asksForFacts
      return request
    }
    func isRefused(_ signature: String) -> Bool {
      do throws(GatewayError) {
        _ = try signedAccess.admit(request(signature), now: 0)
        return false
      } catch { return error.code == "bad_signature" }
    }
    let right = keys.sign(parsed.signedText)
    expect(!isRefused(right), "a right signature opens its target")
    expect(isRefused(String(right.dropLast()) + "!") && isRefused(""), "and no other does")
    if let given = parsed.signature, given != right, given != right + "=" {
      expect(isRefused(given), "what a target brings is not believed")
    }
  }

  private static func checkPreset(_ word: String) {
    guard let preset = try? Preset(parsing: word) else { return }
    let written = preset.text
    expect((try? Preset(parsing: written)) == preset, "a preset survives being written and read: \(written)")
  }

  private static let keys: SigningKeys = {
    guard let keys = try? SigningKeys(lines: Array("a key of twenty bytes".utf8)) else { fatalError("a key") }
    return keys
  }()
  private static let presets = ["thumb:300x200:cover", "default:q80", "a:webp"].compactMap { try? Preset(parsing: $0) }
  private static let openAccess = PictureAccess(allow: ["*"], keys: .none, presets: presets, onlyPresets: false)
  private static let narrowAccess = PictureAccess(
    allow: ["example.org"], keys: .none, presets: presets, onlyPresets: false)
  private static let signedAccess = PictureAccess(allow: [], keys: keys, presets: presets, onlyPresets: false)

  // MARK: The oracle

  /// `yes`, and what the path says: of values that are said several times the last.
  private static func show(_ bytes: [UInt8]) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { return "-" }
    guard let parsed = try? PathForm.parse(text) else { return "no" }
    var form = WantedForm(isLenient: true)
    var presets: [String] = []
    for layer in parsed.layers {
      switch layer {
      case .own(let own): form = own.completed(by: form)
      case .preset(let name): presets.append(name)
      }
    }
    let facts: [(String, String?)] = [
      ("url", FuzzKit.hex(parsed.source.text.utf8)), ("signature", parsed.signature.map { FuzzKit.hex($0.utf8) }),
      ("expires", parsed.expires.map(String.init)), ("width", form.width.map(String.init)),
      ("height", form.height.map(String.init)), ("fit", form.fit?.rawValue), ("enlarge", form.enlarge.map(String.init)),
      ("extend", form.extends.map(String.init)), ("dpr", form.density.map { "\($0)" }),
      ("zoom", form.zoom.map { "\($0)" }), ("min-width", form.minWidth.map(String.init)),
      ("min-height", form.minHeight.map(String.init)), ("rotate", form.rotate.map(String.init)),
      ("quality", form.quality.map(String.init)), ("max_bytes", form.mostBytes.map(String.init)),
      ("format", form.format?.rawValue),
      ("padding", form.padding.map { $0.sides.map(String.init).joined(separator: ",") }),
      ("background", form.background.map { "\($0.red),\($0.green),\($0.blue)" }),
      ("presets", presets.isEmpty ? nil : presets.map { FuzzKit.hex($0.utf8) }.joined(separator: ",")),
      ("filename", parsed.disposition.filename.map { FuzzKit.hex($0.utf8) }),
      ("attachment", parsed.disposition.isAttachment ? "true" : nil),
    ]
    return "yes " + facts.compactMap { name, value in value.map { "\(name)=\($0)" } }.joined(separator: " ")
  }
}
