import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

/// The short way of lending a file that was lent before: nothing is looked at for a second, and yet no
/// path is handed out of a file that has gone.
struct TierLendingAgainTests {
  /// Two pictures whose files have been lent twice.
  private func stage() throws -> (stage: TierStage, image: CachedImage, other: CachedImage) {
    let stage = try TierStage()
    let images = [photo(url(1), on: stage), photo(url(2), on: stage)]
    for image in images { #expect(stage.lend(image) == .lent) }
    for _ in 0..<2 {
      for image in images { #expect(stage.tier.lendAgain(image)) }
    }
    return (stage, images[0], images[1])
  }

  @Test(arguments: ["unlink", "truncate", "chmod", "rename"])
  func `a file that somebody has touched is not lent in the next tick`(what: String) throws {
    let (stage, image, other) = try stage()
    let path = try #require(image.file?.path)
    switch what {
    case "unlink": unlink(path)
    case "truncate": truncate(path, 10)
    case "chmod": chmod(path, 0o666)
    default: rename(path, path + ".away")
    }
    stage.loop.tick(waiting: false)
    #expect(!stage.tier.lendAgain(image))
    #expect(stage.tier.lendAgain(other))
  }

  /// As editors and rsync do it: nothing is written to the file that was there.
  @Test func `a file that another of its length was moved over is not lent any more`() throws {
    let (stage, image, other) = try stage()
    let path = try #require(image.file?.path)
    let draft = stage.place.root + "/draft"
    try write(String(repeating: "7", count: image.byteCount), to: draft)
    rename(draft, path)
    stage.loop.tick(waiting: false)
    #expect(!stage.tier.lendAgain(image))
    #expect(stage.lend(image, mayStore: false) != .lent)
    #expect(stage.tier.lendAgain(other))
  }

  @Test func `a file whose directory was moved is not lent in the next tick`() throws {
    let (stage, image, _) = try stage()
    rename(stage.place.path, stage.place.path + ".away")
    stage.loop.tick(waiting: false)
    #expect(!stage.tier.lendAgain(image))
  }

  @Test func `a file is not lent a second after a directory above was moved`() throws {
    let (stage, image, _) = try stage()
    rename(stage.place.root, stage.place.root + ".away")
    defer { TemporaryDirectory.remove(stage.place.root + ".away") }
    stage.pass(.seconds(1))
    #expect(!stage.tier.lendAgain(image))
    #expect(stage.tier.lend(image, mayStore: false, countsAsUse: true) != .lent)
    stage.turn()
    #expect(stage.tier.state == .ok && stage.tier.count == 0, "it has begun anew")
  }

  @Test func `a look at the state notices that a directory above was moved`() throws {
    let (stage, _, _) = try stage()
    stage.tier.lookForDirectory()
    #expect(stage.tier.state == .ok)
    rename(stage.place.root, stage.place.root + ".away")
    defer { TemporaryDirectory.remove(stage.place.root + ".away") }
    stage.tier.lookForDirectory()
    #expect(stage.tier.state == .down)
    #expect(stage.tier.reason == "the cache directory was removed")
  }

  /// In the same tick, as the next line of a client may be.
  @Test(arguments: ["remove", "purge", "replace", "everything"])
  func `a file whose entry has gone is not lent any more`(what: String) throws {
    let (stage, image, _) = try stage()
    switch what {
    case "remove": stage.tier.remove(image.key)
    case "purge":
      var filter = PurgeFilter()
      filter.url = image.key.url
      stage.tier.purge(filter, soft: false) { _ in }
      stage.turn()
    case "replace": stage.store(photo(url(1), body(700), on: stage))
    default:
      stage.tier.purge(PurgeFilter(), soft: false) { _ in }
    }
    #expect(!stage.tier.lendAgain(image))
  }

  /// The kept end of an answer tells the path of a file, which is not that of the next one.
  @Test func `with another file an image is not lent again before that was looked at`() throws {
    let (stage, image, other) = try stage()
    image.keepPathEnding(Array("the first".utf8))
    image.file = other.file
    #expect(!image.hasPathEnding && image.lentTerm == 0)
    image.file = nil
    #expect(!stage.tier.lendAgain(image))
  }

  @Test func `a lease goes on for as long as a file is lent`() throws {
    let (stage, image, _) = try stage()
    let place = try #require(image.file?.place)
    for _ in 0..<200 {
      stage.pass(.seconds(1))
      #expect(stage.tier.lendAgain(image))
      #expect(Int64(stage.parts.index[place].leaseEnd) >= stage.wall + 60)
    }
  }

  @Test func `a file that is lent in each second is the last to go`() throws {
    let (stage, image, other) = try stage()
    for _ in 0..<3 {
      stage.pass(.seconds(1))
      #expect(stage.tier.lendAgain(other))
      #expect(stage.tier.lendAgain(image))
    }
    #expect(stage.parts.index.victims(sharing: 0).first { _ in true } == other.file?.place)
  }
}
