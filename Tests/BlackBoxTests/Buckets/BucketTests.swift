import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Objects of a bucket through the whole daemon, at an origin that checks signatures.
struct BucketTests {
  @Test func `a thousand of a thousand odd keys are opened, over one connection`() throws {
    let stage = try BucketStage()
    #expect(try stage.open(OddKey.all(1_000, in: BucketStage.bucket)) == 1_000)
    #expect(stage.origin.connections == 1)
  }

  @Test func `a picture that is there is confirmed with another signature`() throws {
    let stage = try BucketStage()
    let answer = OriginAnswer.conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "no-cache")])
    stage.origin.plan("/odd.keys/a", stage.judge.admitting(answer))
    let fetch = #"{"cmd":"fetch","url":"s3://odd.keys/a","deliver":"none"}"#
    #expect(try stage.client.ask(fetch)["source"] == "network")
    #expect(try stage.client.ask(fetch)["source"] == "revalidated")
  }

  @Test func `the bucket's region is learnt`() throws {
    let stage = try BucketStage(region: "eu-west-1")
    for path in ["/odd.keys/a", "/odd.keys/b"] { stage.origin.plan(path, stage.judge.answer(png())) }
    for key in ["a", "b"] {
      #expect(try stage.client.ask(#"{"cmd":"fetch","url":"s3://odd.keys/\#(key)"}"#)["ok"] == true)
    }
    #expect(stage.origin.requests.count == 3)
  }

  @Test func `the secret is in neither the log nor an answer, and a refusal has the service's code`() throws {
    let stage = try BucketStage()
    let refusal = Array("<Error><Code>AccessDenied</Code></Error>".utf8)
    stage.origin.plan("/odd.keys/a", .status(403, body: refusal))
    var lines = [try stage.client.ask(#"{"cmd":"fetch","url":"s3://odd.keys/a","http":true}"#)]
    #expect(lines[0]["error"]?["message"]?.string?.hasSuffix("status 403 (AccessDenied)") == true)
    for command in ["config", "stats", "hello"] { lines.append(try stage.client.ask(#"{"cmd":"\#(command)"}"#)) }
    let text = lines.map(\.text).joined() + stage.daemon.log
    for secret in [SignatureJudge.secret, SignatureJudge.accessKey, "AWS4-HMAC-SHA256"] {
      #expect(!text.contains(secret))
    }
  }

  @Test func `the gateway shows objects of a bucket that is allowed by its name`() throws {
    let stage = try BucketStage()
    stage.origin.plan("/odd.keys/a%20%281%29", stage.judge.answer(png()))
    for (allowed, status) in [("s3://odd.keys", 200), ("*", 403), ("odd.keys", 403)] {
      let gateway = try GatewayProcess(before: stage.daemon.socket, ["Allow=\(allowed)"])
      for target in ["/plain/s3://odd.keys/a%20(1)", "/fetch?url=s3%3A%2F%2Fodd.keys%2Fa%2520(1)"] {
        #expect(try gateway.get(target).status == status, "\(allowed) \(target)")
      }
    }
  }

  @Test func `a bucket without a section is an error at once`() throws {
    let stage = try BucketStage()
    let line = try stage.client.ask(#"{"cmd":"fetch","url":"s3://other/a"}"#)
    #expect(line["error"]?["code"] == "bad_url")
    #expect(line["error"]?["retryable"] == false)
    #expect(line["error"]?["message"] == "s3://other needs a section [Origin s3://other] in the configuration")
  }
}
