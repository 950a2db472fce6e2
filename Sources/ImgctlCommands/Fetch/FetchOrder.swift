/// One picture of a run: a URL, or the receipt of a fetch that began before.
struct FetchOrder {
  /// The order's place among those of the run, which is the `id` of its request.
  let number: Int
  let subject: String
  /// The name of its file in a directory.
  let name: FileName
}

/// The name of a file in a directory.
enum FileName {
  /// From a URL, without extension.
  case made(String)
  /// From a list; the picture's extension is added unless the name ends in one.
  case given(String)

  /// Whether a name stays in its directory or one below it: lists may come from strangers.
  static func isBelow(_ name: String) -> Bool {
    let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
      && parts.allSatisfy { !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }
  }
}

/// What became of one picture: its record on the output, a sentence for people, and an exit code.
struct FetchOutcome {
  var record: Record?
  var complaint: String?
  var remark: String?
  var exitCode = ExitCode.done
  /// How long the host has asked to be left alone.
  var pause: Duration?
}

/// A piece of output: a line, or the bytes of a picture.
enum Record {
  case line([UInt8])
  case picture(HeldPicture)
}
