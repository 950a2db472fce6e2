import Testing

@testable import ImgdWire

/// Which forms of a picture there are.
struct PictureFormTests {
  @Test func `a picture without another size, format, quality or frames is the original`() {
    #expect(PictureForm().isOriginal && PictureForm(layout: .bgra8Premultiplied).isOriginal)
    let others = [
      PictureForm(box: PictureForm.Box(width: 1, height: nil)), PictureForm(formats: [.png]),
      PictureForm(quality: 100), PictureForm(frames: .first),
    ]
    for form in others { #expect(!form.isOriginal, "\(form)") }
  }

  @Test(arguments: PictureForm.Fit.allCases, [PictureForm.Crop?.none, .centre, .attention])
  func `one side is enough to contain, and only what covers is cut`(
    fit: PictureForm.Fit, crop: PictureForm.Crop?
  ) {
    func problem(_ width: Int?, _ height: Int?) -> PictureForm.Box.Problem? {
      PictureForm.Box(width: width, height: height, fit: fit).problem(crop: crop)
    }
    #expect(problem(nil, nil) == (fit == .contain ? .noSide : .openSide))
    let whole: PictureForm.Box.Problem? =
      crop == nil || [.cover, .coverAlike, .coverDown].contains(fit) ? nil : .needlessCrop
    #expect(problem(1, 2) == whole)
    for (width, height) in [(1, nil), (nil, 1)] as [(Int?, Int?)] {
      #expect(problem(width, height) == (fit == .contain ? whole : .openSide))
    }
  }

  @Test func `a part, or a colour for what loses its alpha, needs no size`() {
    let area = PictureForm.Area.pixels(x: 0, y: 0, width: 1, height: 1)
    #expect(PictureForm.Box(width: nil, height: nil, area: area).problem(crop: nil) == nil)
    let white = PictureForm.Background(red: 255, green: 255, blue: 255)
    #expect(PictureForm.Box(width: nil, height: nil, background: white).problem(crop: nil) == nil)
    let pad = PictureForm.Box(width: nil, height: 9, fit: .pad, area: area)
    #expect(pad.problem(crop: nil) == .openSide)
  }

  @Test(arguments: [
    (0.0, "0.0"), (1, "1.0"), (0.4, "0.4"), (1.0 / 3, "0.333333"), (0.000_001, "0.000001"),
    (0.05, "0.05"), (-0.5, "-0.5"), (1e300, "9.0"), (-1e300, "-9.0"), (.nan, "-0.000001"),
  ])
  func `a fraction has a point`(number: Double, text: String) {
    #expect(Fraction(number).text == text)
  }

  @Test(
    arguments: [
      ("centre", .centre), ("attention", .attention),
      ("0.4,0.3", .point(x: Fraction(0.4), y: Fraction(0.3))), ("0,1", .point(x: Fraction(0), y: Fraction(1))),
      ("0.5,1.0000000000000000000", .point(x: Fraction(0.5), y: Fraction(1))),
    ] as [(String, PictureForm.Crop)])
  func `a part that is kept is read from its text`(text: String, crop: PictureForm.Crop) {
    #expect(PictureForm.Crop(text) == crop)
    #expect(PictureForm.Crop(crop.text) == crop)
  }

  @Test(arguments: [
    "", "top", "0.4", "0.4,", ",0.3", "0.4,0.3,0.2", "1.1,0", "-0.1,0", "0,2", ".5,0", "5.,0", "1e0,0",
    "0.4, 0.3", "nan,0", "inf,0", "٠,0", "0.00000000000000000000001,0",
  ])
  func `other text names no part`(text: String) {
    #expect(PictureForm.Crop(text) == nil)
  }

  @Test(
    arguments: [
      ("10,20,300,200", .pixels(x: 10, y: 20, width: 300, height: 200)),
      ("0,0,1,1", .pixels(x: 0, y: 0, width: 1, height: 1)),
      ("0,0,1.0,1", .fractions(x: Fraction(0), y: Fraction(0), width: Fraction(1), height: Fraction(1))),
      (
        "0.333333,0.25,0.666667,0.5",
        .fractions(
          x: Fraction(0.333333), y: Fraction(0.25), width: Fraction(0.666667), height: Fraction(0.5))
      ),
    ] as [(String, PictureForm.Area)])
  func `an area is in pixels, or in fractions if one has a point`(
    text: String, area: PictureForm.Area
  ) throws {
    #expect(try PictureForm.Area(text) == area)
    #expect(try PictureForm.Area(area.texts.joined(separator: ",")) == area)
  }

  @Test(arguments: [
    ("", ""), ("1,2,3", ""), ("1,2,3,4,5", ""), ("a,2,3,4", ""), ("0,0,0,1", "width"),
    ("0,0,1,0", "height"), ("0,0,65536,1", "width"), ("70000,0,1,1", "x"), ("0.5,0,0.6,1", "width"),
    ("0,0.5,1,0.6", "height"), ("0.1,0,20,1", "width"), ("0,1.5,1,1", "y"), ("0.0,0,0,1", "width"),
  ])
  func `what is wrong with an area has a name`(text: String, name: String) {
    #expect(throws: NumberProblem.self) { try PictureForm.Area(text) }
    do throws(NumberProblem) { _ = try PictureForm.Area(text) } catch { #expect(error.name == name) }
  }

  @Test(arguments: [
    ("#ff8000", "#ff8000"), ("#FF8000ff", "#ff8000"), ("#00000000", "#00000000"),
    ("ff8000", nil), ("#ff80", nil), ("#ff80000", nil), ("#gg0000", nil), ("#", nil), ("", nil),
    ("#ff8000ff0", nil), ("white", nil),
  ])
  func `a colour is written as in CSS`(text: String, read: String?) {
    #expect(PictureForm.Background(text)?.text == read)
  }

  @Test(
    arguments: [
      ("300x200", 300, 200), ("300x", 300, nil), ("x200", nil, 200), ("1x65535", 1, 65_535),
      ("007x1", 7, 1),
    ] as [(String, Int?, Int?)])
  func `sides are read`(text: String, width: Int?, height: Int?) throws {
    let sides = try #require(SidesText.sides(of: text))
    #expect(sides == (width, height))
  }

  @Test(arguments: [
    "", "x", "300", "300x200x1", "0x1", "1x0", "x0", "65536x", "-1x1", "+1x1", "1 x1", "1.5x1",
    "axb",
    "1X1", "٣x1", "99999999999999999999x", "xx",
  ])
  func `other text is no size`(text: String) {
    #expect(SidesText.sides(of: text) == nil)
  }

  @Test func `sides have another range where one is named`() {
    #expect(SidesText.sides(of: "10x11", within: 1...10) == nil)
    #expect(SidesText.sides(of: "10x10", within: 1...10) != nil)
  }
}
