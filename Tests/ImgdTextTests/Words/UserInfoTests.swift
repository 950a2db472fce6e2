import Testing

@testable import ImgdText

struct UserInfoTests {
  @Test(arguments: [
    ("http://me:secret@host/a", "http://…@host/a"), ("http://secret@host/a", "http://…@host/a"),
    ("http://me:se/c:r@secret@host/a", "http://…@host/a"), ("me:secret@host", "…@host"),
    ("http:/me:secret@host", "…@host"), (#""http:\/\/me:secret@host""#, #"…@host""#),
    (#"["http://host/a", "http://me:secret@host"]"#, #"["http://…@host"]"#),
    ("@", "…@"), ("//me:secret@host", "…@host"), ("://me:secret@host", "://…@host"),
  ])
  func `a user name and a password are not shown`(text: String, shown: String) {
    #expect(withoutUserInfo(text) == shown)
    #expect(withoutUserInfo(text[...]) == shown)
  }

  @Test(arguments: ["", "http://host:8080/a?b=c", "näher", "http://"])
  func `other text is shown as it is`(text: String) {
    #expect(withoutUserInfo(text) == text)
  }
}
