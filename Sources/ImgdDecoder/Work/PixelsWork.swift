import CJPEG
import CVips
import Glibc
import ImgdDecode
import ImgdPicture
import ImgdSystem

enum PixelsWork {
  static func make(_ source: Source, _ rendition: Rendition) throws(DecodeFailure) -> MadePicture {
    let (box, layout) = (rendition.box, rendition.layout)
    if box == nil, let made = try JPEGWork.make(source, layout) { return made }
    let fitted = try FittedPicture(
      source, in: box, allFrames: rendition.frames == .all && source.format.isAnimatable)
    guard fitted.frames <= MadePicture.mostDelays else {
      throw DecodeFailure(.tooLarge, "\(fitted.frames) frames, at most \(MadePicture.mostDelays) as pixels")
    }
    let picture = try fitted.padded(try fitted.make().inRGBA(), withAlpha: true)
    // A damaged animation may have other frames than it says.
    let frames = fitted.frames > 1 ? fitted.frames : source.picture.frames
    return try write(picture, layout, frames: frames, delays: fitted.delays)
  }

  /// Computes the pixels into memory that can be given away.
  static func write(_ picture: VipsPicture, _ layout: Rendition.Layout, frames: Int, delays: [Int] = [])
    throws(DecodeFailure) -> MadePicture
  {
    let memory = try OutputMemory.make(count: picture.width * picture.height * 4)
    try unsafe picture.write(to: memory.bytes)
    if layout == .premultipliedBGRA { unsafe premultiply(memory.bytes) }
    return MadePicture(
      format: nil, width: picture.width, height: picture.height / max(1, delays.count), frames: frames, delays: delays,
      content: try OutputMemory.seal(memory))
  }

  /// Turns RGBA into BGRA with its alpha multiplied in, rounded to the nearest.
  private static func premultiply(_ pixels: UnsafeMutableRawBufferPointer) {
    for start in stride(from: 0, to: pixels.count, by: 4) {
      let alpha = unsafe UInt32(pixels[start + 3])
      let (red, blue) = unsafe (UInt32(pixels[start]), UInt32(pixels[start + 2]))
      unsafe pixels[start] = UInt8((blue * alpha + 127) / 255)
      unsafe pixels[start + 1] = UInt8((UInt32(pixels[start + 1]) * alpha + 127) / 255)
      unsafe pixels[start + 2] = UInt8((red * alpha + 127) / 255)
    }
  }
}

enum OutputMemory {
  static func make(count: Int) throws(DecodeFailure) -> MappedMemory {
    do { return try MappedMemory(count: count) } catch {
      throw DecodeFailure(.tooLarge, "no memory for \(count) bytes: \(error.reason)")
    }
  }

  static func copy(_ bytes: some Collection<UInt8>) throws(DecodeFailure) -> Payload {
    let memory = try make(count: bytes.count)
    unsafe memory.bytes.copyBytes(from: bytes)
    return try seal(memory)
  }

  static func seal(_ memory: consuming MappedMemory) throws(DecodeFailure) -> Payload {
    do { return try memory.seal() } catch { throw DecodeFailure(.tooLarge, error.description) }
  }
}

extension VipsPicture {
  func upright() throws(DecodeFailure) -> VipsPicture {
    guard orientation > 1 else { return self }
    // Turning reads the rows in an order other than that of decoding.
    return try FrameColumn(try computed()).mapped { (frame) throws(DecodeFailure) in try frame.turned() }
  }

  /// Computes the pixels into `room`, which has exactly their size.
  func write(to room: UnsafeMutableRawBufferPointer) throws(DecodeFailure) {
    precondition(room.count == width * height * bands, "the room is that of the pixels")
    let target = try unsafe VipsPicture(
      vips_image_new_from_memory(
        room.baseAddress, room.count, CInt(width), CInt(height), CInt(bands), VIPS_FORMAT_UCHAR))
    try target.copyPixels(of: self)
  }

  /// Computes the pixels of another picture into the memory of this one.
  private func copyPixels(of other: VipsPicture) throws(DecodeFailure) {
    guard unsafe vips_image_write(other.image, image) == 0 else { throw VipsError.takeFailure() }
  }

  private func turned() throws(DecodeFailure) -> VipsPicture { try unsafe VipsPicture(cvips_upright(image)) }
}

/// Decodes an ordinary JPEG, as most pictures are, without libvips: that takes a quarter of the time.
enum JPEGWork {
  /// Nil for pictures that need more: CMYK, or colours other than those of a screen.
  static func make(_ source: Source, _ layout: Rendition.Layout) throws(DecodeFailure) -> MadePicture? {
    guard source.format == .jpeg, try isOrdinary(source) else { return nil }
    let (width, height) = (source.picture.width, source.picture.height)
    let isTurned = source.picture.orientation > 1
    // It is opaque, so that nothing has to be multiplied.
    guard let pixels = try decode(source, asBGRA: layout == .premultipliedBGRA && !isTurned) else { return nil }
    guard isTurned else {
      return MadePicture(format: nil, width: width, height: height, frames: 1, content: pixels)
    }
    let lying = try VipsPicture(copying: pixels.bytes, width: width, height: height)
    lying.set("orientation", source.picture.orientation)
    return try PixelsWork.write(try lying.upright(), layout, frames: 1)
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
  private static func decode(_ source: Source, asBGRA: Bool) throws(DecodeFailure) -> Payload? {
    let (width, height) = (source.picture.width, source.picture.height)
    let sink = RowSink(count: width * height * 4)
    defer { withExtendedLifetime(sink) {} }
    let isDecoded = try unsafe call { reason in
      unsafe jpeg_pixels(
        source.start, source.count, CInt(width), CInt(height), asBGRA ? 1 : 0,
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
      if result == JPEG_DAMAGED { failure = unsafe VipsError.failure([String(cString: reason)], .damaged) }
      return result == JPEG_DECODED
    }
    if let failure { throw failure }
    return isDecoded
  }
}

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
