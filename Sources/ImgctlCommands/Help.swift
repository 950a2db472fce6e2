/// The text of `imgctl --help` and `imgctl help COMMAND`.
enum Help {
  static func text(_ verb: Verb?) -> String {
    verb.map { "Usage: imgctl \(usage($0))" } ?? overview
  }

  private static let overview = """
    Usage: imgctl [--socket PATH] COMMAND [ARGUMENT]...
    Fetches pictures through imgd, and manages its cache.

      fetch URL...     fetch pictures; - reads URLs from standard input
      cancel RECEIPT   cancel fetches
      purge            remove pictures from the cache
      stats            show the daemon's counters
      list             show the fetches under way
      reload           make the daemon read its configuration again
      ping             check that the daemon answers
      help COMMAND     explain a command

          --socket PATH  the daemon's socket; default: $IMGD_SOCKET, your own, the machine's
      -V, --version      print the version
      -h, --help         print this help

    Exit codes: 0 success, 1 failure, 2 wrong usage, 3 no daemon, 4 not permitted, 5 timed out,
    6 not cached, 7 blocked by policy, 8 not a picture, 130 interrupted.
    """

  private static func usage(_ verb: Verb) -> String {
    switch verb {
    case .fetch: fetch
    case .cancel:
      """
      cancel RECEIPT | --slot SLOT | --tag TAG | --all
      Cancels one fetch and prints the state it was in, or several and prints their number.
      """
    case .purge: purge
    case .stats:
      """
      stats [--json]
      Prints the daemon's counters as a table or as JSON.
      """
    case .list:
      """
      list [--json]
      Prints the running and waiting fetches as a table or as JSON.
      """
    case .reload:
      """
      reload
      Makes the daemon read its configuration again, and prints the keys that have changed. If the
      configuration has a mistake, nothing changes; imgctl prints the mistake, and the exit code is 1.
      """
    case .ping:
      """
      ping
      Checks that the daemon answers, and prints how long the answer took.
      """
    case .help:
      """
      help [COMMAND]
      Explains a command, or lists all commands.
      """
    }
  }

  private static let fetch = """
    fetch URL... [OPTION]...
    Fetches pictures, and prints a line for each: the path of its file in the daemon's cache, or
    a description of a picture that is in no file.
    The URL - stands for the URLs on standard input, one on each line.

      -o, --output FILE|DIR|-   write the picture to a file, to an existing directory under a name
                                from its URL, or to standard output
          --json                print the daemon's answers as JSON lines
          --progress            show the progress of downloads on the terminal
          --cache MODE          default, reload, no-cache, force-cache, only-if-cached, no-store
          --identifier ID       an additional part of the cache key
          --priority P          low, normal or high
          --tag TAG             label the fetch for cancel and purge; may be repeated
          --timeout DURATION    give up after this time, such as 30s
          --max-bytes SIZE      refuse pictures larger than this, such as 10M
          --header 'Name: value'  send a header to the origin; may be repeated
    """

  private static let purge = """
    purge FILTER... | --all
    Removes the cache entries that match all filters, and prints how many there were.

          --url URL             entries with this URL, with all identifiers and variants
          --identifier ID       entries with this identifier
          --prefix TEXT         entries whose URL begins with this text
          --host HOST           entries of this host and its subdomains
          --tag TAG             entries that were fetched with this tag
          --older-than DURATION entries stored at least this long ago, such as 7d
          --unused-for DURATION entries not used for at least this long
          --expired             entries that are no longer fresh
          --tier TIER           memory, disk or all; default: all
          --soft                mark the entries as stale instead of removing them
      -y, --all                 all entries
    """
}
