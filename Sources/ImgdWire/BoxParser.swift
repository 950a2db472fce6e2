// How a box is read from a line, and written in one.

enum BoxParser {
  static func box(_ fields: RequestFields, in line: Span<UInt8>) throws(WireError) -> PictureForm.Box? {
    guard fields.present.contains(.resize) else { return nil }
    guard let members = fields.container(.resize)?.object else {
      throw fields.wrong(.resize, .text("an object with \(names.joined(separator: ", "))"), in: line)
    }
    var crop: PictureForm.Crop?
    var box = PictureForm.Box(width: nil, height: nil)
    for member in members {
      switch member.name {
      case "width": box.width = try side(member)
      case "height": box.height = try side(member)
      case "fit": box.fit = try word(member)
      case "crop": crop = try self.crop(member)
      case "enlarge": box.enlarge = try flag(member)
      case "linear": box.linear = try flag(member)
      case "area": box.area = try area(member)
      case "background": box.background = try background(member)
      case let name where name.utf8.starts(with: "x_".utf8): break
      case let name: throw .unknownField(name, of: "resize", path: "resize.", known: names)
      }
    }
    box.crop = crop ?? .centre
    switch box.problem(crop: crop) {
    case .noSide: throw .field(.resize, "\"resize\" needs \"width\", \"height\" or both, or an \"area\"")
    case .openSide:
      throw .field(.resize, "\"resize\" needs both \"width\" and \"height\" where \"fit\" is \"\(box.fit.rawValue)\"")
    case .needlessCrop: throw .field(.resize, "\"resize.crop\" is only for \"fit\":\"cover\"")
    case nil: return box
    }
  }

  private static let names = ["width", "height", "fit", "crop", "enlarge", "linear", "area", "background"]

  private static func crop(_ member: JSONValue.Member) throws(WireError) -> PictureForm.Crop {
    if let word = member.value.string {
      guard PictureForm.Crop.words.contains(word), let crop = PictureForm.Crop(word) else {
        throw wrong(member, .oneOf(PictureForm.Crop.words))
      }
      return crop
    }
    let wanted = "\"centre\", \"attention\", or an object with \"x\" and \"y\""
    let point = try numbers(["x", "y"], of: member, wanted)
    do throws(NumberProblem) { return try .point(point[0], point[1]) } catch { throw wrong(error, of: member) }
  }

  private static func area(_ member: JSONValue.Member) throws(WireError) -> PictureForm.Area {
    let wanted = "an object with \"x\", \"y\", \"width\" and \"height\""
    let numbers = try numbers(PictureForm.Area.names, of: member, wanted)
    do throws(NumberProblem) { return try PictureForm.Area(numbers) } catch { throw wrong(error, of: member) }
  }

  private static func background(_ member: JSONValue.Member) throws(WireError) -> PictureForm.Background {
    guard let background = member.value.string.flatMap(PictureForm.Background.init) else {
      throw wrong(member, .text("a colour, \(PictureForm.Background.wanted)"))
    }
    return background
  }

  /// The numbers of an object that has these and no others.
  private static func numbers(_ names: [String], of member: JSONValue.Member, _ wanted: String) throws(WireError)
    -> [WrittenNumber]
  {
    guard let members = member.value.object else { throw wrong(member, .text(wanted)) }
    if let other = members.first(where: { !names.contains($0.name) && !$0.name.utf8.starts(with: "x_".utf8) }) {
      let path = "resize.\(member.name)"
      throw .unknownField(other.name, of: path, path: path + ".", known: names)
    }
    var numbers: [WrittenNumber] = []
    for name in names {
      guard let value = member.value[name] else {
        throw .field(.resize, "\"resize.\(member.name)\" has no \"\(name)\"; it takes \(wanted)")
      }
      guard let number = WrittenNumber(value) else {
        throw wrong(JSONValue.Member("\(member.name).\(name)", value), .text("a number"))
      }
      numbers.append(number)
    }
    return numbers
  }

  private static func wrong(_ problem: NumberProblem, of member: JSONValue.Member) -> WireError {
    let place = JSONValue.Member("\(member.name).\(problem.name)", member.value[problem.name] ?? .null)
    return wrong(place, .text(problem.wanted))
  }

  private static func word<Value: RawRepresentable<String> & CaseIterable>(_ member: JSONValue.Member) throws(WireError)
    -> Value
  {
    guard let value = member.value.string.flatMap(Value.init(rawValue:)) else {
      throw wrong(member, .oneOf(Value.allCases.map { $0.rawValue }))
    }
    return value
  }

  private static func flag(_ member: JSONValue.Member) throws(WireError) -> Bool {
    guard let flag = member.value.bool else { throw wrong(member, .flag) }
    return flag
  }

  private static func side(_ member: JSONValue.Member) throws(WireError) -> Int {
    guard let side = member.value.integer.flatMap(Int.init(exactly:)), WireLimits.side.contains(side) else {
      throw wrong(member, .integer(WireLimits.side, of: "pixels"))
    }
    return side
  }

  private static func wrong(_ member: JSONValue.Member, _ wanted: WantedValue) -> WireError {
    .field(.resize, wanted.complaint(about: "resize.\(member.name)", sent: SentValue(member.value)))
  }
}

extension PictureForm.Box {
  func write(to json: inout JSONWriter) {
    json.beginObject()
    if let area { json.numbers("area", zip(PictureForm.Area.names, area.texts)) }
    if let width { json.field("width", width) }
    if let height { json.field("height", height) }
    if fit != .contain { json.field("fit", fit.rawValue) }
    switch crop {
    case .centre: break
    case .attention: json.field("crop", crop.text)
    case .point(let x, let y): json.numbers("crop", zip(["x", "y"], [x.text, y.text]))
    }
    if enlarge { json.field("enlarge", true) }
    if linear { json.field("linear", true) }
    if let background { json.field("background", background.text) }
    json.endObject()
  }
}

extension JSONWriter {
  /// An object of numbers that have been written as texts.
  fileprivate mutating func numbers(_ name: StaticString, _ members: Zip2Sequence<[String], [String]>) {
    self.name(name)
    beginObject()
    for (name, number) in members {
      self.name(name)
      encoded(Array(number.utf8))
    }
    endObject()
  }
}
