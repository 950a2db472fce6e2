import ImgdCache
import Testing

/// Answers to requests with credentials that are for all.
struct CredentialSharingTests {
  /// What the origin says, and whether an answer to Authorization and one to a cookie may be shown to others.
  static let table: [(headers: [(name: String, value: String)], authorization: Bool, cookies: Bool)] =
    [
      ([], false, false),
      (control("max-age=60"), false, false),
      (control("public"), true, true),
      (control("max-age=60, PUBLIC"), true, true),
      (control("s-maxage=60"), true, false),
      (control("s-maxage=0"), true, false),
      (control("must-revalidate"), true, false),
      (control("max-age=60, must-revalidate"), true, false),
      (control("proxy-revalidate"), false, false),
      (control("no-cache"), false, false),
      (control("immutable"), false, false),
      (control("no-transform"), false, false),
      ([("cache-control", "max-age=60"), ("cache-control", "public")], true, true),
      // The stricter word holds.
      (control("private"), false, false),
      (control("public, private"), false, false),
      (control("private=\"x-user\", s-maxage=60"), false, false),
      ([("cache-control", "public"), ("cache-control", "private")], false, false),
      (control("must-revalidate, private"), false, false),
      // A word in quotes is none.
      (control("x=\"public\""), false, false),
      (control("x=\", public, \""), false, false),
      ([("pragma", "public")], false, false),
      // An answer that depends on credentials is one for their like.
      (control("public") + [("vary", "Authorization")], false, false),
      (control("public") + [("vary", "Accept, cookie")], false, false),
      (control("public") + [("vary", "*")], false, false),
      (control("public") + [("vary", "Accept"), ("vary", "COOKIE")], false, false),
      (control("public") + [("vary", "Accept, X-Authorization")], true, true),
    ]

  private static func control(_ value: String) -> [(name: String, value: String)] {
    [("cache-control", value)]
  }

  @Test(arguments: table.indices)
  func `an answer is shared where its origin says so (RFC 9111, 3.5)`(index: Int) {
    let row = Self.table[index]
    #expect(CredentialSharing.authorization.admits(row.headers) == row.authorization, "\(row)")
    #expect(CredentialSharing.cookies.admits(row.headers) == row.cookies, "\(row)")
  }

  @Test(
    arguments: [
      ([], nil), (["authorization"], .authorization), (["cookie"], .cookies),
      (["authorization", "cookie"], .cookies), (["x-api-key"], nil),
      (["authorization", "x-api-key"], nil), (["cookie", "x-auth"], nil),
    ] as [([String], CredentialSharing?)])
  func `only the credentials of the standard are shared`(
    names: [String], sharing: CredentialSharing?
  ) {
    #expect(CredentialSharing(Set(names)) == sharing)
  }

  // MARK: The end of what is shared

  /// With what the answer says beside `max-age=60`, and whether it is shown stale to those who want it so.
  @Test(arguments: [
    ("public", true), ("must-revalidate", false), ("s-maxage=60", false),
    ("public, must-revalidate", true), ("s-maxage=60, public", true),
  ])
  func `what credentials have opened is open only while it is fresh`(
    word: String, isOpen: Bool
  ) {
    let headers = Self.control("max-age=60, \(word)")
    func judgement(isScoped: Bool, isOpened: Bool) -> Freshness {
      Freshness(
        status: 200, headers: headers,
        terms: FreshnessTerms(
          ttl: .seconds(600), isScoped: isScoped, isOpenedByCredentials: isOpened), receivedAt: 0)
    }
    let shared = judgement(isScoped: false, isOpened: true)
    #expect(shared.isOpenOnlyWhileFresh == !isOpen)
    #expect(shared.mustRevalidate || isOpen)
    #expect(isOpen || shared.remaining == .seconds(60), "no request makes it last longer")
    #expect(!judgement(isScoped: true, isOpened: true).isOpenOnlyWhileFresh)
    #expect(!judgement(isScoped: false, isOpened: false).isOpenOnlyWhileFresh)
  }
}
