import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

/// Transfers of objects in a bucket, whose origin checks the signatures.
struct RequestSignerTests {
  let origin: OriginServer
  let bench: TransferBench

  init() throws {
    origin = try OriginServer()
    bench = try TransferBench(.with { $0.retries = 1 })
  }

  private func signer(
    region: String = "us-east-1", token: String? = nil,
    wallSeconds: @escaping @Sendable () -> Int64 = { SignatureJudge.noon }
  ) -> RequestSigner {
    let credentials = SigningCredentials(
      accessKey: SignatureJudge.accessKey, secret: SignatureJudge.secret, sessionToken: token)
    let place = BucketPlace(bucket: "pics", endpoint: BucketEndpoint(origin.url("")), region: region)
    return RequestSigner(credentials, for: place, wallSeconds: wallSeconds)
  }

  @Test func `an object is opened by its signature alone`() throws {
    origin.plan("/pics/a", SignatureJudge().answer(sample(9)))
    #expect(try bench.fetch("s3://pics/a", signer: signer()).bytes == sample(9))
    #expect(try bench.failure(origin.url("/pics/a")).status == 403)
  }

  @Test func `the token of a session and the service's fields are signed`() throws {
    origin.plan("/pics/a", SignatureJudge(token: "T//=").answer(sample(9)))
    let headers = [
      HeaderField("X-Amz-Request-Payer", " requester  is "), HeaderField("x-amz-date", "yesterday"),
      HeaderField("Accept", "image/png"),
    ]
    let result = try bench.fetch("s3://pics/a", headers: headers, signer: signer(token: "T//="))
    #expect(result.bytes == sample(9))
    let request = try #require(origin.requests.last)
    #expect(request.headers.filter { $0.name == "x-amz-date" }.map(\.value) == ["20150830T123600Z"])
    #expect(request.header("accept") == "image/png")
  }

  @Test func `a request with an authorisation of its own keeps that`() throws {
    origin.plan("/pics/a", .echo)
    let headers = [HeaderField("authorization", "mine")]
    let head = try bench.fetch("s3://pics/a", headers: headers, signer: signer()).text
    #expect(head.contains("authorization: mine"))
    #expect(!head.contains("AWS4") && !head.contains("x-amz-"))
  }

  @Test func `each attempt is signed at its own moment, with the key of its day`() throws {
    let clock = Shared(SignatureJudge.noon - 86_400)
    let signer = signer {
      clock.with { now in
        now += 86_400
        return now
      }
    }
    let today = SignatureJudge()
    let tomorrow = SignatureJudge(minute: "20150831T1236")
    origin.plan("/pics/a", today.admitting(.status(503)), tomorrow.answer(sample(9)))
    #expect(try bench.fetch("s3://pics/a", signer: signer).bytes == sample(9))
    #expect(origin.count("/pics/a") == 2)
  }

  @Test func `a body that broke off is continued with another signature`() throws {
    let judge = SignatureJudge()
    let cut = OriginAnswer.ranged(sample(900), tag: "\"t\"", most: 400)
    origin.plan("/pics/a", judge.admitting(cut), judge.admitting(.ranged(sample(900), tag: "\"t\"")))
    let result = try bench.fetch("s3://pics/a", signer: signer())
    #expect(result.bytes == sample(900))
    #expect(result.resumedFrom == 400)
  }

  // MARK: Regions

  @Test func `a request is signed anew for the region that the service names, which is learnt`() throws {
    let judge = SignatureJudge(region: "eu-west-1")
    for path in ["/pics/a", "/pics/b"] { origin.plan(path, judge.answer(sample(9))) }
    let signer = signer()
    #expect(try bench.fetch("s3://pics/a", signer: signer).bytes == sample(9))
    #expect(origin.count("/pics/a") == 2)
    #expect(try bench.fetch("s3://pics/b", signer: signer).bytes == sample(9))
    #expect(origin.count("/pics/b") == 1)
  }

  @Test func `regions that name each other are asked only so often`() throws {
    origin.plan(
      "/pics/a",
      OriginAnswer { request in
        let isHere = request.header("authorization")?.contains("/here/") == true
        return OriginAnswer.status(301, headers: [("x-amz-bucket-region", isHere ? "there" : "here")])
          .steps(request)
      })
    let signer = signer(region: "here")
    #expect(try bench.failure("s3://pics/a", signer: signer).status == 301)
    #expect(origin.count("/pics/a") == 3)
    #expect(signer.place.region == "here")
  }

  @Test(arguments: [301, 302, 307, 308])
  func `other hosts get no signature`(status: Int) throws {
    let other = try OriginServer()
    origin.plan("/pics/a", .redirect(to: other.url("/pics/a"), status: status))
    let redirect = try bench.redirect("s3://pics/a", signer: signer())
    #expect(redirect.target == other.url("/pics/a"))
    #expect(other.connections == 0)
  }

  // MARK: Refusals

  @Test(arguments: [
    (-4 * 3_600, "4h behind"), (1_200, "20min ahead of"),
  ])
  func `a clock that is off is named`(offset: Int64, difference: String) throws {
    let date = ("Date", "Sun, 30 Aug 2015 12:36:00 GMT")
    let refusal = Array("<Error><Code>RequestTimeTooSkewed</Code></Error>".utf8)
    origin.plan("/pics/a", .status(403, headers: [date], body: refusal))
    origin.plan("/pics/b", .status(403, headers: [date]))
    for key in ["a", "b"] {
      let signer = signer { SignatureJudge.noon + offset }
      let failure = try bench.failure("s3://pics/\(key)", signer: signer)
      #expect(failure.status == 403)
      #expect(failure.message.hasSuffix(": this machine's clock is \(difference) the service's"))
    }
  }

  @Test func `a clock is off where the service says so without a date`() throws {
    origin.plan("/pics/a", SignatureJudge().answer(sample(9)))
    let failure = try bench.failure("s3://pics/a", signer: signer { 0 })
    #expect(failure.message.hasSuffix("403 (RequestTimeTooSkewed): this machine's clock is wrong"))
  }

  @Test func `other refusals have the service's code`() throws {
    let date = ("Date", "Sun, 30 Aug 2015 12:40:00 GMT")
    let refusal = Array("<Error><Code>AccessDenied</Code><Message>no</Message></Error>".utf8)
    origin.plan("/pics/a", .status(403, headers: [date], body: refusal))
    let failure = try bench.failure("s3://pics/a", signer: signer())
    #expect(failure.message == "127.0.0.1 answers with status 403 (AccessDenied)")
    #expect(try bench.failure(origin.url("/pics/a")).message == "127.0.0.1 answers with status 403")
  }

  @Test(arguments: [
    ("<Error><Code>NoSuchKey</Code>", "NoSuchKey"), ("<Code></Code>", nil), ("<Code>No", nil), ("", nil),
    ("<Code>a b</Code>", nil), ("<Code>\u{1b}[31m</Code>", nil),
    ("<Code>" + String(repeating: "x", count: 65) + "</Code>", nil),
  ])
  func `a code is a word`(body: String, code: String?) {
    let refusal = ServiceRefusal(head: HeadCollector(), body: Array(body.utf8), signedAt: 0)
    #expect(refusal.code == code)
  }

  @Test(arguments: ["s3://pics/a", "s3://pics/a?x"])
  func `a bucket without a section says so, and is not asked for`(url: String) throws {
    let failure = try bench.failure(url)
    #expect(failure.kind == .badURL)
    #expect(failure.message == "s3://pics needs a section [Origin s3://pics] in the configuration")
    #expect(origin.connections == 0)
  }

  @Test func `no redirect leads to a bucket`() throws {
    origin.plan("/a", .redirect(to: "s3://pics/a"))
    #expect(try bench.failure(origin.url("/a")).kind == .blockedScheme)
  }

  @Test func `a signer is for one place and one account`() {
    let signer = signer()
    let credentials = SigningCredentials(accessKey: SignatureJudge.accessKey, secret: SignatureJudge.secret)
    let endpoint = BucketEndpoint(origin.url(""))
    #expect(signer.isFor(BucketPlace(bucket: "pics", endpoint: endpoint), with: credentials))
    let others = [
      BucketPlace(bucket: "pics"), BucketPlace(bucket: "pics", endpoint: endpoint, region: "eu-west-1"),
      BucketPlace(bucket: "other", endpoint: endpoint),
    ]
    for place in others { #expect(!signer.isFor(place, with: credentials)) }
    let other = SigningCredentials(accessKey: SignatureJudge.accessKey, secret: "other")
    #expect(!signer.isFor(signer.place, with: other))
  }

  @Test func `what is no object's URL is not requested`() throws {
    let failure = try bench.failure("s3://pics/", signer: signer())
    #expect(failure.kind == .badURL)
    #expect(failure.message.contains("s3://pics/key"))
  }
}
