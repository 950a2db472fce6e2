import ImgdTestSupport
import ImgdWire
import Testing

/// Hosts that want the same forms of the same pictures.
private struct FormStage {
  static let forms = [
    #""resize":{"width":20}"#, #""format":"webp""#, #""resize":{"height":10},"format":"jpeg","quality":70"#,
  ]

  let stage: FleetStage
  let urls: [String]

  /// No look is late, however busy the machine is.
  init(hosts: Int, pictures: Int) throws {
    let stage = try FleetStage(hosts: hosts)
    self.stage = stage
    urls = (0..<pictures).map { number in
      let picture = TestPicture.png(.gradient(width: 40 + number, height: 30))
      stage.origin.plan("/\(number)", .picture(picture, headers: [("Cache-Control", "max-age=3600")]))
      return stage.origin.url("/\(number)")
    }
  }

  var decodes: Int {
    get throws {
      try stage.hosts.reduce(0) { sum, host in
        let stats = try host.ask(#"{"cmd":"stats"}"#)
        return sum + Int(stats["decode"]?["completed"]?.integer ?? -1_000)
      }
    }
  }

  /// The one picture that all answers bring.
  func picture(_ answers: [JSONValue]) throws -> String {
    guard let data = answers.first?["data"]?.string, answers.allSatisfy({ $0["data"]?.string == data })
    else { throw TestFailure("not one picture: \(answers.map(\.outcome))") }
    return data
  }
}

@Suite("Forms in a fleet") struct SharedFormTests {
  @Test func `are made once, by whichever host is asked first`() throws {
    let forms = try FormStage(hosts: 3, pictures: 10)
    var stores = [0, 0, 0]
    for (number, url) in forms.urls.enumerated() {
      let first = number % 3
      for form in FormStage.forms {
        let fields = form + "," + VersionedPictures.inside
        let made = try forms.stage.hosts[first].fetch(url, fields)
        stores[first] += form == FormStage.forms[0] ? 2 : 1
        try forms.stage.awaitStored(stores[first], by: forms.stage.hosts[first])
        let others = try forms.stage.fetchAll(url, fields)
        _ = try forms.picture([made] + others)
        #expect(Set(others.map(\.outcome)) == ["memory", "fleet"])
      }
    }
    #expect(try forms.decodes == 3 * forms.urls.count)
    for number in forms.urls.indices { #expect(forms.stage.origin.count("/\(number)") == 1) }
  }

  @Test func `are gone everywhere after a purge on one host`() throws {
    let forms = try FormStage(hosts: 3, pictures: 1)
    let (stage, url) = (forms.stage, forms.urls[0])
    let fields = FormStage.forms[0] + "," + VersionedPictures.inside
    _ = try stage.hosts[0].fetch(url, fields)
    try stage.awaitStored(2, by: stage.hosts[0])
    let old = try forms.picture(try stage.fetchAll(url, fields))
    #expect(try forms.decodes == 1)
    let other = TestPicture.png(.gradient(width: 90, height: 30))
    for (number, purge) in [#""url":"\#(url)""#, #""prefix":"\#(url)""#, ""].enumerated() {
      let answer = OriginAnswer.picture(other, headers: [("Cache-Control", "max-age=3600")])
      stage.origin.plan("/0", answer)
      try stage.hosts[0].purge(purge)
      try stage.catchUp()
      for host in stage.hosts {
        #expect(try host.fetch(url, #""cache":"only-if-cached","# + fields).outcome == "not_cached")
      }
      // The same bytes have the same key: what was made of them before the purge is not shown either.
      _ = try stage.hosts[2].fetch(url, fields)
      #expect(try forms.decodes == 2 + number)
      try stage.awaitStored(2 * (number + 1), by: stage.hosts[2])
      #expect(try forms.picture(try stage.fetchAll(url, fields)) != old)
      #expect(try forms.decodes == 2 + number)
    }
  }

  @Test func `are given to a host that has no decoder`() throws {
    let forms = try FormStage(hosts: 1, pictures: 1)
    let (stage, url) = (forms.stage, forms.urls[0])
    let directory = TemporaryDirectory()
    let program = directory.path + "/imgd"
    let copy = try ChildProcess.run("/bin/cp", [BuiltProduct.path(of: "imgd"), program])
    #expect(copy.code == 0, "\(copy.output)")
    let bare = try DaemonProcess(
      settings: ["Fleet.Server=unix:\(stage.redis.socket)", "Fleet.Timeout=10s"], program: program)
    let client = try bare.connect()
    guard try becomes({ try client.ask(#"{"cmd":"stats"}"#)["fleet"]?["state"]?.string == "ok" })
    else { throw TestFailure("it cannot use the server: \(bare.log)") }
    for form in FormStage.forms + [#""format":["avif","webp"],"resize":{"width":9}"#] {
      #expect(try client.ask(FleetHost.request(url, form)).failureCode == "unavailable")
    }
    for (number, form) in FormStage.forms.enumerated() {
      _ = try stage.hosts[0].fetch(url, form)
      try stage.awaitStored(number + 1, by: stage.hosts[0])
      #expect(try client.ask(FleetHost.request(url, form)).outcome == "fleet")
      #expect(try client.ask(FleetHost.request(url, form)).outcome == "memory")
    }
    #expect(try forms.decodes == 3 && stage.origin.count("/0") == 1)
  }
}

@Suite("Answers without a picture in a fleet") struct SharedAnswerFleetTests {
  @Test(arguments: [404, 410])
  func `are shared where their origin has named a time`(status: Int) throws {
    let stage = try FleetStage(hosts: 3)
    stage.origin.plan("/named", .status(status, headers: [("Cache-Control", "max-age=600")]))
    stage.origin.plan("/silent", .status(status))
    for (number, host) in stage.hosts.enumerated() {
      let line = try host.fetch(stage.origin.url("/named"))
      #expect(line.outcome == (number == 0 ? "http_status" : "http_status cached"))
      if number == 0 { try stage.awaitStored(1, by: host) }
      #expect(try host.fetch(stage.origin.url("/silent")).failureCode == "http_status")
    }
    #expect(stage.origin.count("/named") == 1 && stage.origin.count("/silent") == 3)
    try stage.hosts[1].purge(#""url":"\#(stage.origin.url("/named"))""#)
    try stage.catchUp()
    stage.pictures.add("/named")
    for host in stage.hosts { #expect(try host.fetch(stage.origin.url("/named"))["ok"] == true) }
  }

  @Test func `lead all hosts to where a redirect leads one`() throws {
    let stage = try FleetStage(hosts: 3)
    stage.origin.plan("/a", .redirect(to: "/b", headers: [("Cache-Control", "max-age=600")]))
    stage.pictures.add("/b")
    let url = stage.origin.url("/a")
    #expect(try stage.hosts[0].fetch(url).outcome == "network")
    try stage.awaitStored(2, by: stage.hosts[0])
    for host in stage.hosts.dropFirst() {
      let line = try host.fetch(url)
      #expect(line.outcome == "fleet" && line["final_url"]?.string == stage.origin.url("/b"))
    }
    #expect(stage.origin.count("/a") == 1 && stage.origin.count("/b") == 1)
  }
}

@Suite("Forms that ten hosts want at once", .slow) struct SharedFormSoakTests {
  @Test func `are made once each`() throws {
    let forms = try FormStage(hosts: 10, pictures: 100)
    // Starting a decoder takes long where ten hosts do it at once.
    let picture = TestPicture.png(.gradient(width: 200, height: 30))
    for (number, host) in forms.stage.hosts.enumerated() {
      forms.stage.origin.plan("/warm-\(number)", .picture(picture))
      _ = try host.fetch(forms.stage.origin.url("/warm-\(number)"), #""store":"local","# + FormStage.forms[0])
    }
    for url in forms.urls {
      for form in FormStage.forms {
        let answers = try forms.stage.fetchAll(url, form + "," + VersionedPictures.inside)
        _ = try forms.picture(answers)
      }
    }
    #expect(try forms.decodes == 300 + forms.stage.hosts.count)
    for number in forms.urls.indices { #expect(forms.stage.origin.count("/\(number)") == 1) }
  }
}
