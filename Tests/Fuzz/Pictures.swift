// Entry for libFuzzer, compiled together with the sources that it tests, from the root of the
// project:
//
//   swiftc -O -sanitize=fuzzer,address -parse-as-library -package-name imgd \
//     $(find Sources/ImgdPicture -name '*.swift') Tests/Fuzz/picture.swift -o fuzz-picture
//   SWIFT_BACKTRACE=enable=no ./fuzz-picture -max_total_time=60 CORPUS

/// Any bytes are a picture with sane numbers, or a reason; a trap is the finding.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPicture(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  guard let picture = try? PictureProbe.recognise(bytes.span) else { return 0 }
  precondition(picture.width > 0 && picture.height > 0, "a picture has both sides")
  precondition(picture.frames > 0, "a picture has a frame")
  precondition((1...8).contains(picture.orientation), "an orientation is one of eight")
  return 0
}
