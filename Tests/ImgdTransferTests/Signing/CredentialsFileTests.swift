import ImgdTestSupport
import Testing

@testable import ImgdTransfer

struct CredentialsFileTests {
  private func read(_ text: String) throws -> SigningCredentials {
    try CredentialsFile.credentials(in: text, named: "keys")
  }

  @Test(arguments: [
    "[default]\naws_access_key_id=AK\naws_secret_access_key=se/c+r=t",
    "[default]\r\n aws_access_key_id \t= AK \r\naws_secret_access_key =se/c+r=t\r\n",
    "# a comment\n; another\n\n[ default ]\n#aws_session_token = x\nAWS_ACCESS_KEY_ID = AK\n"
      + "region = eu-west-1\naws_secret_access_key = se/c+r=t\n",
    "[other]\naws_access_key_id = no\nnonsense\n[default]\naws_access_key_id = AK\n"
      + "aws_secret_access_key = se/c+r=t\n[third]\naws_access_key_id = no\naws_session_token = no",
  ])
  func `the profile default is read`(text: String) throws {
    #expect(try read(text) == SigningCredentials(accessKey: "AK", secret: "se/c+r=t"))
  }

  @Test func `keys of a session have a token`() throws {
    let text = "[default]\naws_access_key_id=a\naws_secret_access_key=b\naws_session_token = c//=="
    #expect(try read(text).sessionToken == "c//==")
  }

  @Test(arguments: [
    ("", "keys has no profile [default]"),
    ("aws_access_key_id = SECRET\n[other]\n", "keys has no profile [default]"),
    ("\n[default]\naws_access_key_id = SECRET", "keys:2: the profile [default] has no aws_secret"),
    ("[default]\naws_secret_access_key = SECRET", "keys:1: the profile [default] has no aws_access"),
    ("[default]\naws_access_key_id =\n", "keys:2: aws_access_key_id has no value"),
    ("[default]\naws_access_key_id = a SECRET # mine\n", "keys:2: the value of aws_access_key_id has"),
    ("[default]\naws_session_token = SECRÉT\n", "keys:2: the value of aws_session_token has"),
    ("[default]\naws_access_key_id = a\naws_access_key_id = SECRET\n", "keys:3: aws_access_key_id is"),
    ("[default]\naws_secret_access_key: SECRET\n", "keys:2: a line of the profile [default] has no ="),
    ("[default\naws_access_key_id = SECRET", "keys:1: the name of a profile has no ]"),
    ("[default]\n[other]\n[default]\n", "keys:3: the profile [default] is there twice"),
  ])
  func `a mistake has its file and line, and no value`(text: String, message: String) {
    #expect {
      try read(text)
    } throws: { error in
      let words = (error as? CredentialsFileProblem)?.message ?? ""
      return words.hasPrefix(message) && !words.contains("SECR")
    }
  }

  @Test func `every cut is read or refused`() {
    let text = "#x\n[default]\naws_access_key_id = AK\naws_secret_access_key = s\naws_session_token=t\n[o"
    for count in 0...text.utf8.count {
      let read = try? read(String(decoding: text.utf8.prefix(count), as: UTF8.self))
      #expect(read == nil || read?.accessKey == "AK")
    }
  }

  @Test func `credentials are never printed`() throws {
    let credentials = SigningCredentials(accessKey: "ACCESS", secret: "SECRET", sessionToken: "TOKEN")
    let signer = RequestSigner(credentials, for: BucketPlace(bucket: "bucket"))
    let url = try TransferURL("https://bucket.s3.us-east-1.amazonaws.com/key")
    _ = signer.sign([], for: url, at: signer.place)
    let order = TransferOrder(
      serial: 1, url: "s3://bucket/key", maxBytes: 1, deadline: .seconds(1), signer: signer)
    var text = "\(order)\(signer)\(credentials)" + String(reflecting: order) + String(reflecting: credentials)
    for value in [order, signer, credentials] as [Any] { dump(value, to: &text) }
    for secret in ["ACCESS", "SECRET", "TOKEN"] { #expect(!text.contains(secret)) }
  }
}
