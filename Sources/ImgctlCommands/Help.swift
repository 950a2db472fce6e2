/// What `imgctl --help` and `imgctl help VERB` print.
enum Help {
  static func text(_ verb: Verb?) -> String {
    verb.map { "Usage: imgctl \(usage($0))" } ?? overview
  }

  private static let overview = """
    Usage: imgctl [--socket PATH] COMMAND [ARGUMENT]...
    Fetches pictures through imgd, and looks after its cache.

      fetch URL...     fetch pictures; from a list on standard input with -
      cancel RECEIPT   cancel fetches
      purge            remove pictures from the cache
      stats            show the daemon's counters
      list             show what is being downloaded
      reload           let the daemon read its configuration again
      ping             see whether the daemon answers
      help COMMAND     explain a command

          --socket PATH  the daemon's socket, instead of $IMGD_SOCKET, your own or the machine's
      -V, --version      print the version
      -h, --help         print this

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no daemon, 4 not permitted, 5 timed out,
    6 not cached, 7 blocked by policy, 8 not a picture, 130 interrupted.
    """

  private static func usage(_ verb: Verb) -> String {
    switch verb {
    case .fetch: fetch
    case .cancel:
      """
      cancel RECEIPT | --slot SLOT | --tag TAG | --all
      Cancels the fetches that are named, and prints the state or the number they were in.
      """
    case .purge: purge
    case .stats:
      """
      stats [--json]
      Prints the daemon's counters as a table, or as the daemon sends them.
      """
    case .list:
      """
      list [--json]
      Prints what runs and what waits as a table, or as the daemon sends it.
      """
    case .reload:
      """
      reload
      Lets the daemon read its configuration again, and prints what has changed. A configuration
      with a mistake changes nothing: then the mistake is printed, and the exit code is 1.
      """
    case .ping:
      """
      ping
      Asks the daemon for a sign of life, and prints how long it took.
      """
    case .help:
      """
      help [COMMAND]
      Explains a command, or lists all of them.
      """
    }
  }

  private static let fetch = """
    fetch URL... [OPTION]...
    Fetches pictures, and prints a line for each: the path of its file in the daemon's cache, or
    what is known of a picture that is in no file.
    A URL of - stands for the URLs on standard input, one a line.

      -o, --output FILE|DIR|-   write the picture to a file, into a directory under a name from
                                its URL, or to standard output
          --json                print the daemon's answers as they are
          --progress            show on the terminal how far pictures have come
          --cache MODE          default, reload, no-cache, force-cache, only-if-cached, no-store
          --identifier ID       the additional identifier of the cache entry
          --priority P          low, normal or high
          --tag TAG             mark the entry for cancel and purge; may be repeated
          --timeout DURATION    give up after that time, such as 30s
          --max-bytes SIZE      refuse larger pictures, such as 10M
          --header 'Name: value'  send a header to the origin; may be repeated
    """

  private static let purge = """
    purge FILTER... | --all
    Removes from the cache what all filters match, and prints how much it was.

          --url URL             one URL with all its identifiers and variants
          --identifier ID       one additional identifier
          --prefix TEXT         URLs that begin so
          --host HOST           a host and what is below it
          --tag TAG             what was fetched with that tag
          --older-than DURATION stored longer ago, such as 7d
          --unused-for DURATION not used for so long
          --expired             what is no longer fresh
          --tier TIER           memory, disk or all, which is the default
          --soft                mark as stale instead of removing
      -y, --all                 everything
    """
}
