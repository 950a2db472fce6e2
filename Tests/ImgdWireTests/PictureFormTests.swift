import Testing

@testable import ImgdWire

/// Which forms of a picture there are.
struct PictureFormTests {
  @Test func `a picture without another size, format, quality or frames is the original`() {
    #expect(PictureForm().isOriginal)
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
      PictureForm.Box.problem(width: width, height: height, fit: fit, crop: crop)
    }
    #expect(problem(nil, nil) == .noSide)
    let whole: PictureForm.Box.Problem? = crop == nil || fit == .cover ? nil : .needlessCrop
    #expect(problem(1, 2) == whole)
    for (width, height) in [(1, nil), (nil, 1)] as [(Int?, Int?)] {
      #expect(problem(width, height) == (fit == .contain ? whole : .openSide))
    }
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
