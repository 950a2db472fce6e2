import ImgdClient
import ImgdTestSupport
import Testing

/// Pictures that the program has already.
struct ConditionTests {
  private let stage: ClientStage

  init() async throws { stage = try await ClientStage() }

  private func url() -> String {
    stage.url("/a", .conditional(png(), tag: "\"1\"", headers: [("Cache-Control", "max-age=100")]))
  }

  private func options(_ tag: String, _ delivery: FetchOptions.Delivery) -> FetchOptions {
    var options = FetchOptions(delivery: delivery)
    options.headers = ["If-None-Match": tag]
    return options
  }

  @Test(arguments: FetchOptions.Delivery.allCases)
  func `a picture that the program has is no error, and none`(
    delivery: FetchOptions.Delivery
  ) async throws {
    let url = url()
    #expect(try await !stage.client.fetch(url).isNotModified)
    let picture = try await stage.client.fetch(url, options("\"1\"", delivery))
    #expect(picture.isNotModified && picture.source == .memory && picture.url == url)
    #expect(picture.path == nil && picture.pathNote == nil && picture.memory == nil)
    #expect(picture.freshFor.map { $0 > .seconds(50) } == true)
    #expect(try await !stage.client.fetch(url, options("\"2\"", delivery)).isNotModified)
  }

  @Test func `a slot keeps what it shows`() async throws {
    let url = url()
    let slot = PictureSlot(client: stage.client)
    slot.show(url)
    #expect(await slot.settled() == "shown 1000")
    slot.show(url, options("\"1\"", .path))
    #expect(await slot.settled() == "shown 1000")
  }
}
