import ImgdText
import Testing

struct EntityTagTests {
  @Test(
    arguments: [
      ("\"a\"", "\"a\"", true, true), ("\"a\"", "\"b\", \"a\"", true, true),
      ("\"a\"", "W/\"a\"", true, false), ("W/\"a\"", "\"a\"", true, false),
      ("W/\"a\"", "W/\"a\"", true, false), ("\"a\"", "W/\"a\", \"a\"", true, true),
      ("\"a\"", "\"A\"", false, false), ("\"a\"", "", false, false),
      ("\"a,b\"", "\"a,b\"", true, true),
      ("\"a\"", "a", nil, nil), ("\"a\"", "\"a\" \"b\"", nil, nil), ("\"a\"", "w/\"a\"", nil, nil),
      ("\"a\"", "\"a", nil, nil), ("\"a\"", "*", nil, nil),
    ] as [(String, String, Bool?, Bool?)])
  func `a tag is looked for in a list, weakly and strongly`(
    tag: String, list: String, isIn: Bool?, isStrongly: Bool?
  ) throws {
    let tag = try #require(EntityTag(tag))
    #expect(tag.isIn(list) == isIn && tag.isStrongly(in: list) == isStrongly)
  }

  @Test(arguments: ["", "a", "\"a", "\"a\" x", "W\"a\"", "\"a\",\"b\"", "\"a b\""])
  func `anything else is no tag`(text: String) {
    #expect(EntityTag(text) == nil)
  }
}
