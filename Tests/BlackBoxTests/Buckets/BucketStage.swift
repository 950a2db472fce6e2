import Glibc
import ImgdTestSupport
import ImgdWire

/// A daemon with sections about buckets at an origin that checks signatures.
final class BucketStage {
  static let bucket = "odd.keys"

  let origin: OriginServer
  let daemon: DaemonProcess
  let client: TestClient
  let judge = SignatureJudge(minute: nil)
  private let home = TemporaryDirectory()

  init(region: String = "us-east-1") throws {
    origin = try OriginServer()
    let keys = home.path + "/keys"
    try write(SignatureJudge.credentialsFile, to: keys)
    chmod(keys, 0o600)
    daemon = try DaemonProcess(
      settings: ["CredentialsFile=\(keys)", "Endpoint=\(origin.url(""))", "Region=\(region)"].map {
        "Origin s3://\(Self.bucket).\($0)"
      })
    client = try daemon.connect()
  }

  /// Fetches objects with odd keys, each with a size of its own; returns how many were opened.
  func open(_ keys: [OddKey]) throws -> Int {
    for (number, key) in keys.enumerated() { origin.plan(key.place, judge.answer(png(1_000 + number))) }
    return try keys.enumerated().count { number, key in
      let line = try client.ask(#"{"cmd":"fetch","url":"\#(key.url)","deliver":"none"}"#)
      return line["bytes"]?.integer == Int64(1_000 + number)
    }
  }
}
