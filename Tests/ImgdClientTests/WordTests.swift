import ImgdClient
import ImgdWire
import Testing

/// The library's choices have the words of the protocol.
struct WordTests {
  private func words<Choice: RawRepresentable<String> & CaseIterable>(
    _ type: Choice.Type
  ) -> [String] {
    type.allCases.map(\.rawValue)
  }

  @Test func `every choice is one of the protocol`() {
    #expect(words(FetchOptions.CacheMode.self) == words(ImgdWire.CacheMode.self))
    #expect(words(FetchOptions.Store.self) == words(StorePolicy.self))
    #expect(words(FetchOptions.Priority.self) == words(ImgdWire.Priority.self))
    #expect(words(FetchOptions.Format.self) == words(OutputFormat.self))
    #expect(words(FetchOptions.Frames.self) == words(FrameChoice.self))
    #expect(words(FetchOptions.PixelLayout.self) == words(ImgdWire.PixelLayout.self))
    #expect(words(Resize.Fit.self) == words(PictureForm.Fit.self))
    // Bytes come in memory alone.
    #expect(
      words(FetchOptions.Delivery.self) == words(ImgdWire.Delivery.self).filter { $0 != "inline" })
  }
}
