import ImgdConnection
import ImgdSystem
import ImgdWire

/// What a fetching command asks of its run.
struct FetchPlan {
  /// The request that asks for a picture.
  enum Command {
    case fetch, wait

    /// The field that says which picture it is about, in requests and in records.
    var subject: String { self == .fetch ? "url" : "receipt" }
  }

  var command = Command.fetch
  let delivery: Delivery
  /// The request for each picture as the command's own options make it, still without a URL.
  var fetch = FetchRequest(url: "")
  /// Whether the name of a file says in which format its picture is wanted.
  var namesFormats = false
  /// Whether the tiers that may keep a picture were named.
  var namesStore = false
  var isOrdered = true
  /// How many pictures may be asked for at a time.
  var mostOpen = FetchPlan.usualJobs
  /// The time after which the daemon gives up.
  var timeout: Duration?
  /// Whether progress was asked for by name: lines without a terminal, and events in JSON.
  var showsProgress = false
  var onAnswer: (Reply) -> Void = { _ in }

  static let usualJobs = 256

  /// How many files of the user's, or pictures that wait to be written, may be open.
  static let mostDescriptors = max(1, Int(OpenFiles.firstReserved) / 2 - 16)

  /// How many may be under way or wait for an earlier one: early records take memory, and pictures among them
  /// descriptors.
  var mostAhead: Int {
    guard isOrdered else { return mostOpen }
    let holdsPictures = delivery.form.hasDescriptor && delivery.destination == .standardOutput
    return holdsPictures ? min(mostOpen, 64, Self.mostDescriptors) : max(mostOpen, 1024)
  }

  /// The request for one picture; nil if what was given is not a receipt.
  func request(_ order: FetchOrder, withEvents: Bool) -> Request? {
    guard command == .fetch else {
      return ReceiptID(order.subject).map { .wait(WaitRequest(receipt: $0, delivery: delivery.form.delivery)) }
    }
    var fetch = fetch
    fetch.url = order.subject
    if order.file != nil {
      fetch.url = FetchRequest.descriptorURL
      // Only a picture on disk has a path.
      if !namesStore, delivery.form != .path { fetch.store = .memory }
    }
    fetch.delivery = delivery.form.delivery ?? .path
    fetch.progress = withEvents
    fetch.events = withEvents
    if namesFormats, let format = delivery.format(for: order) { fetch.extras.form.formats = [format] }
    return .fetch(fetch)
  }
}

/// One picture of a run: a URL, or the receipt of a fetch that began before.
struct FetchOrder {
  enum Kind {
    case url, file
    /// A file of a directory that was named: it is passed over if it is no picture.
    case fileInDirectory
  }

  /// The order's place among those of the run, which is the `id` of its request.
  let number: Int
  let subject: String
  /// The name of its file in a directory.
  let name: FileName
  var kind = Kind.url
  /// The picture itself, where it is a file of the user's: it goes with each attempt at the request.
  var file: SharedDescriptor?
  /// Where its thumbnail goes, among those of the desktop.
  var thumbnail: DesktopThumbnail?
}

/// The name of a file in a directory.
enum FileName {
  /// From a URL or a path, without extension.
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
  case picture(SharedDescriptor)
}
