import Glibc
import ImgdSystem

/// Puts a configuration together from every place that may say something about it.
package enum ConfigurationLoader {
  /// Reads files, environment and command line, the later over the earlier.
  ///
  /// All problems of all places are reported together; nothing is taken over in part.
  package static func load(
    _ options: CommandLineOptions, environment: [String: String], uid: UInt32 = geteuid(),
    systemFile: String = "/etc/imgd/imgd.conf"
  ) throws(ConfigurationProblems) -> Configuration {
    let instance = Instance(environment: environment, uid: uid)
    var draft = ConfigurationDraft(defaults: instance.defaults)
    let file = options.configurationFile ?? instance.configurationFile(system: systemFile)
    if let file {
      read(file, isRequired: options.configurationFile != nil, into: &draft)
    }
    ConfigurationEnvironment(environment).apply(to: &draft)
    for setting in options.settings {
      if let problem = setting.problem { draft.note(problem) }
      if let assignment = setting.assignment { draft.apply(assignment) }
    }
    return try draft.finished()
  }

  /// Reads a file, then what lies in its drop-in directory, in the order of the names' bytes.
  private static func read(_ path: String, isRequired: Bool, into draft: inout ConfigurationDraft) {
    let dropIns: [String]
    do {
      if let bytes = try readWholeFile(path) {
        draft.apply(ConfigurationFile(path: path, bytes: bytes))
      } else if isRequired {
        draft.note("\(path): there is no such file")
      }
      dropIns = try namesInDirectory(path + ".d", suffix: ".conf")
    } catch {
      return draft.note(error.description)
    }
    for name in dropIns { readDropIn("\(path).d/\(name)", into: &draft) }
  }

  private static func readDropIn(_ path: String, into draft: inout ConfigurationDraft) {
    do {
      // One that vanished since the directory was read was taken away in time.
      guard let bytes = try readWholeFile(path) else { return }
      draft.apply(ConfigurationFile(path: path, bytes: bytes))
    } catch {
      draft.note(error.description)
    }
  }
}
