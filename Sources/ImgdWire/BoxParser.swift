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
      case "min_width": box.minWidth = try side(member)
      case "min_height": box.minHeight = try side(member)
      case "scale": box.scale = try scale(member)
      case "padding": box.padding = try padding(member)
      case "rotate": box.rotate = try rotation(member)
      case let name where name.utf8.starts(with: "x_".utf8): break
      case let name: throw .unknownField(name, of: "resize", path: "resize.", known: names)
      }
    }
    box.crop = crop ?? .centre
    switch box.problem(crop: crop) {
    case .noSide: throw .field(.resize, "\"resize\" needs \"width\", \"height\" or both, or an \"area\"")
    case .openSide:
      throw .field(.resize, "\"resize\" needs both \"width\" and \"height\" where \"fit\" is \"\(box.fit.rawValue)\"")
    case .needlessCrop: throw .field(.resize, "\"resize.crop\" is only for \"fit\":\"cover\", and others that cut")
    case .needlessScale: throw .field(.resize, "\"resize.scale\" stands for \"width\" and \"height\", which are there")
    case nil: return box
    }
  }

  private static let names = [
    "width", "height", "fit", "crop", "enlarge", "linear", "area", "background", "min_width", "min_height", "scale",
    "padding", "rotate",
  ]

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
    if let members = member.value.object, !members.contains(where: { ["x", "y"].contains($0.name) }) {
      return try areaAround(member)
    }
    let wanted = "an object with \"x\", \"y\", \"width\" and \"height\""
    let numbers = try numbers(PictureForm.Area.names, of: member, wanted)
    do throws(NumberProblem) { return try PictureForm.Area(numbers) } catch { throw wrong(error, of: member) }
  }

  /// An area that has a crop, or nothing, in place of its corner.
  private static func areaAround(_ member: JSONValue.Member) throws(WireError) -> PictureForm.Area {
    var crop = PictureForm.Crop.centre
    var sides: [String: Int] = [:]
    for part in member.value.object ?? [] {
      let part = JSONValue.Member(part.name, part.value)
      switch part.name {
      case "crop": crop = try self.crop(part)
      case "width", "height": sides[part.name] = try side(part)
      case let name where name.utf8.starts(with: "x_".utf8): break
      case let name:
        throw .unknownField(name, of: "resize.area", path: "resize.area.", known: PictureForm.Area.names + ["crop"])
      }
    }
    guard let width = sides["width"], let height = sides["height"] else {
      throw wrong(member, .text("an object with \"width\" and \"height\", and \"x\" and \"y\" or a \"crop\""))
    }
    return .around(crop, width: width, height: height)
  }

  private static func scale(_ member: JSONValue.Member) throws(WireError) -> Fraction {
    guard let number = WrittenNumber(member.value), 0.000_001...8 ~= number.value else {
      throw wrong(member, .text("a number above 0, up to 8"))
    }
    return Fraction(number.value)
  }

  private static func padding(_ member: JSONValue.Member) throws(WireError) -> PictureForm.Padding {
    let names = PictureForm.Padding.names
    let wanted = "an object with \(names.map { "\"\($0)\"" }.joined(separator: ", "))"
    let sides = try numbers(names, of: member, wanted).map { $0.isWhole ? Int(exactly: $0.value) ?? -1 : -1 }
    let range = PictureForm.Padding.range
    for (name, side) in zip(names, sides) where !range.contains(side) {
      let place = JSONValue.Member("padding.\(name)", member.value[name] ?? .null)
      throw wrong(place, .text("a whole number of pixels up to \(range.upperBound)"))
    }
    return PictureForm.Padding(top: sides[0], right: sides[1], bottom: sides[2], left: sides[3])
  }

  private static func rotation(_ member: JSONValue.Member) throws(WireError) -> Int {
    guard let angle = member.value.integer.flatMap(Int.init(exactly:)), [0, 90, 180, 270].contains(angle) else {
      throw wrong(member, .text("0, 90, 180 or 270"))
    }
    return angle
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
    switch area {
    case .around(let crop, let width, let height): json.area(around: crop, width: width, height: height)
    case .some(let area): json.numbers("area", zip(PictureForm.Area.names, area.texts))
    case nil: break
    }
    if let width { json.field("width", width) }
    if let height { json.field("height", height) }
    if fit != .contain { json.field("fit", fit.rawValue) }
    json.crop(crop)
    if enlarge { json.field("enlarge", true) }
    if linear { json.field("linear", true) }
    if let background { json.field("background", background.text) }
    if let minWidth { json.field("min_width", minWidth) }
    if let minHeight { json.field("min_height", minHeight) }
    if let scale { json.number("scale", scale.text) }
    if let padding { json.numbers("padding", zip(PictureForm.Padding.names, padding.sides.map { String($0) })) }
    if rotate != 0 { json.field("rotate", rotate) }
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

  fileprivate mutating func number(_ name: StaticString, _ text: String) {
    self.name(name)
    encoded(Array(text.utf8))
  }

  fileprivate mutating func crop(_ crop: PictureForm.Crop) {
    switch crop {
    case .centre: break
    case .attention: field("crop", crop.text)
    case .point(let x, let y): numbers("crop", zip(["x", "y"], [x.text, y.text]))
    }
  }

  fileprivate mutating func area(around crop: PictureForm.Crop, width: Int, height: Int) {
    name("area")
    beginObject()
    field("width", width)
    field("height", height)
    self.crop(crop)
    endObject()
  }
}
