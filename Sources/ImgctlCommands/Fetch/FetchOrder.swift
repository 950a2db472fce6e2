/// One picture of a run: a URL, or the receipt of a fetch that began before.
struct FetchOrder {
  /// Its place among those asked for, which is the `id` of its request.
  let number: Int
  let subject: String
  /// The name of its file in a directory, without extension.
  let name: String
}

/// What became of one picture: its record on the output, a sentence for people, and an exit code.
struct FetchOutcome {
  var record: Record?
  var complaint: String?
  var remark: String?
  var exitCode = ExitCode.done
}

/// A piece of output: a line, or the bytes of a picture.
enum Record {
  case line([UInt8])
  case picture(HeldPicture)
}
