import ImgdClient
import ImgdTestSupport
import Testing

/// Places that show one picture at a time, as an image view does.
struct SlotTests {
  private let stage: ClientStage
  private let slot: PictureSlot

  init() async throws {
    stage = try await ClientStage()
    slot = PictureSlot(client: stage.client)
  }

  @Test func `a picture is shown, after its placeholder`() async throws {
    let grey = try await stage.client.fetch(stage.url("/grey", .picture(png(900))))
    let gate = Gate()
    let url = stage.url("/a", .held(at: gate, then: .picture(png())))
    var seen: [String] = []
    for await content in slot.contents {
      seen.append(content.text)
      switch content.state {
      case .idle: slot.show(url, placeholder: grey)
      case .loading: gate.open()
      default: break
      }
      if case .shown = content.state { break }
    }
    #expect(seen == ["idle 0", "loading 900", "shown 1000"])
    #expect(slot.content.url == url)
  }

  @Test func `a URL that is being loaded goes on loading`() async throws {
    let gate = Gate()
    let url = stage.url("/a", .held(at: gate, then: .picture(png())))
    slot.show(url)
    #expect(try await aside { gate.waitUntilReached() })
    slot.show(url)
    gate.open()
    #expect(await slot.settled() == "shown 1000")
    #expect(try await stage.client.stats().downloads.coalesced == 0)
    #expect(try await stage.client.stats().downloads.cancelled == 0)
  }

  @Test func `other options are another picture`() async throws {
    let url = stage.url("/a", .picture(TestPicture.png(.gradient(width: 64, height: 64))))
    slot.show(url)
    slot.show(url, FetchOptions(resize: Resize(width: 8)))
    _ = await slot.settled()
    #expect(slot.content.picture?.width == 8)
  }

  @Test func `a newer URL supersedes the one before`() async throws {
    let gate = Gate()
    let first = stage.url("/a", .held(at: gate, then: .picture(png(900))))
    let second = stage.url("/b", .picture(png()))
    slot.show(first)
    #expect(try await aside { gate.waitUntilReached() })
    slot.show(second)
    // The end of the first one is nothing to be seen.
    #expect(slot.content.text == "loading 0")
    #expect(await slot.settled() == "shown 1000")
    #expect(try await stage.becomes("downloads", "cancelled", 1))
    gate.open()
    try await stage.client.ping()
    #expect(slot.content.text == "shown 1000")
  }

  /// Pictures from memory come within microseconds: their results race with the next URL.
  @Test func `no earlier picture is ever read after a later URL was set`() async throws {
    let urls = (0..<4).map { stage.url("/\($0)", .picture(png(1_000 + $0))) }
    for url in urls { _ = try await stage.client.fetch(url) }
    for round in 0..<400 {
      let wanted = round % 4
      slot.show(urls[wanted])
      #expect(slot.content.url == urls[wanted])
      if round % 3 == 0 { continue }
      for await content in slot.contents {
        #expect(content.url == urls[wanted])
        if case .failed(let error) = content.state { Issue.record(error) }
        guard case .shown = content.state else { continue }
        #expect(content.picture?.byteCount == 1_000 + wanted)
        break
      }
    }
  }

  @Test func `cancelled, it keeps what it showed, and the same URL loads again`() async throws {
    let gate = Gate()
    let url = stage.url("/a", .held(at: gate, then: .picture(png())))
    slot.show(stage.url("/b", .picture(png(900))))
    #expect(await slot.settled() == "shown 900")
    slot.show(url)
    #expect(slot.content.text == "loading 900")
    slot.cancel()
    #expect(slot.content.text == "idle 900")
    slot.show(url)
    gate.open()
    #expect(await slot.settled() == "shown 1000")
  }

  @Test func `an error leaves the placeholder, and another try is free`() async throws {
    stage.origin.plan("/a", .status(500), .picture(png()))
    slot.show(stage.origin.url("/a"))
    #expect(await slot.settled() == "failed 0")
    slot.show(stage.origin.url("/a"))
    #expect(await slot.settled() == "shown 1000")
  }

  @Test func `no URL ends what loads`() async throws {
    slot.show(stage.url("/a", .silence))
    #expect(try await stage.isAsked("/a"))
    slot.show(nil)
    #expect(slot.content.text == "failed 0")
    #expect(try await stage.originIsLetGo())
  }

  @Test func `a slot that nobody holds cancels its fetch`() async throws {
    var passing: PictureSlot? = PictureSlot(client: stage.client)
    let contents = try #require(passing?.contents)
    passing?.show(stage.url("/a", .silence))
    #expect(try await stage.isAsked("/a"))
    passing = nil
    #expect(try await stage.originIsLetGo())
    for await _ in contents { Issue.record("the slot is gone") }
  }

  @Test func `what is known of a picture comes before it`() async throws {
    let url = stage.url("/a", .picture(TestPicture.png(.gradient(width: 64, height: 32))))
    var options = FetchOptions(resize: Resize(width: 8))
    options.describe = true
    slot.show(url, options)
    #expect(await slot.settled().hasPrefix("shown"))
    #expect(slot.content.placeholder != nil)
  }
}

extension PictureSlot {
  /// Waits until nothing loads.
  func settled() async -> String {
    for await content in contents {
      if case .loading = content.state { continue }
      return content.text
    }
    return "gone"
  }
}

extension PictureSlot.Content {
  /// The state, and the size of the picture that is shown.
  var text: String {
    let name =
      switch state {
      case .idle: "idle"
      case .loading: "loading"
      case .shown: "shown"
      case .failed: "failed"
      }
    return "\(name) \(picture?.byteCount ?? 0)"
  }
}
