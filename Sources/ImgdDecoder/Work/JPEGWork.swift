import CJPEG
import Glibc
import ImgdDecode
import ImgdPicture
import ImgdSystem

/// Decodes an ordinary JPEG, as most pictures are, without libvips: that takes a quarter of the time.
enum JPEGWork {
  /// Nil for pictures that need more: CMYK, or colours other than those of a screen.
  static func make(_ source: Source) throws(DecodeFailure) -> MadePicture? {
    guard source.format == .jpeg, try isOrdinary(source) else { return nil }
    let (width, height) = (source.picture.width, source.picture.height)
    guard let pixels = try decode(source) else { return nil }
    guard source.picture.orientation > 1 else {
      return MadePicture(format: nil, width: width, height: height, frames: 1, content: pixels)
    }
    let lying = try VipsPicture(copying: pixels.bytes, width: width, height: height)
    lying.set("orientation", source.picture.orientation)
    return try PixelsWork.write(try lying.upright(), frames: 1)
  }

  private static func isOrdinary(_ source: Source) throws(DecodeFailure) -> Bool {
    var profile: UnsafeMutablePointer<UInt8>?
    var count = 0
    let isOrdinary = try unsafe call { reason in
      unsafe jpeg_profile(source.start, source.count, &profile, &count, reason)
    }
    guard let profile = unsafe profile else { return isOrdinary }
    defer { unsafe free(profile) }
    let bytes = unsafe [UInt8](UnsafeBufferPointer(start: profile, count: count))
    return isOrdinary && ColourProfile.isScreen(bytes)
  }

  /// The pixels in a memfd. They are written a few rows at a time: touching the pages of a new memfd in the address
  /// space takes twice as long as letting the kernel fill them.
  private static func decode(_ source: Source) throws(DecodeFailure) -> Payload? {
    let (width, height) = (source.picture.width, source.picture.height)
    let sink = RowSink(count: width * height * 4)
    defer { withExtendedLifetime(sink) {} }
    let isDecoded = try unsafe call { reason in
      unsafe jpeg_pixels(
        source.start, source.count, CInt(width), CInt(height),
        { context, rows, count in
          guard let context = unsafe context else { return 0 }
          let sink = unsafe Unmanaged<RowSink>.fromOpaque(context).takeUnretainedValue()
          return unsafe sink.takeRows(UnsafeRawBufferPointer(start: rows, count: count)) ? 1 : 0
        }, Unmanaged.passUnretained(sink).toOpaque(), reason)
    }
    return isDecoded ? try sink.finish() : nil
  }

  /// Returns whether the picture was decoded; false for pictures that are not decoded here.
  private static func call(_ body: (UnsafeMutablePointer<CChar>) -> jpeg_result) throws(DecodeFailure) -> Bool {
    var failure: DecodeFailure?
    let isDecoded = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 200) { room in
      guard let reason = room.baseAddress else { return false }
      let result = unsafe body(reason)
      if result == JPEG_DAMAGED { failure = unsafe VipsError.failure([String(cString: reason)], of: .loader) }
      return result == JPEG_DECODED
    }
    if let failure { throw failure }
    return isDecoded
  }
}

/// Takes the rows of a picture, from the top down.
private final class RowSink {
  private var writer = PayloadWriter()

  init(count: Int) { writer.expect(count) }

  /// False when there is no memory for them.
  func takeRows(_ rows: UnsafeRawBufferPointer) -> Bool {
    do throws(SystemFailure) {
      try unsafe writer.append(rows)
      return true
    } catch { return false }
  }

  func finish() throws(DecodeFailure) -> Payload {
    do throws(SystemFailure) { return try writer.finish().shareable() } catch {
      throw DecodeFailure(.tooLarge, error.description)
    }
  }
}
