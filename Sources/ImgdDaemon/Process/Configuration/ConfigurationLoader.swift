import Glibc
import ImgdSystem

/// Builds the configuration from files, environment and command line.
package enum ConfigurationLoader {
  /// Reads files, environment and command line; each overrides the one before.
  ///
  /// The error has the mistakes of all places; with any mistake there is no configuration.
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

  /// Reads a file, and then the files in its drop-in directory, in the byte order of their names.
  private static func read(_ path: String, isRequired: Bool, into draft: inout ConfigurationDraft) {
    let dropIns: [String]
    do {
      if let bytes = try readWholeFile(path) {
        draft.apply(ConfigurationFile(path: path, bytes: bytes))
      } else if isRequired {
        draft.note("\(path): the file does not exist")
      }
      dropIns = try namesInDirectory(path + ".d", suffix: ".conf")
    } catch {
      return draft.note(error.description)
    }
    for name in dropIns { readDropIn("\(path).d/\(name)", into: &draft) }
  }

  private static func readDropIn(_ path: String, into draft: inout ConfigurationDraft) {
    do {
      // A file that was removed after the directory was read is no mistake.
      guard let bytes = try readWholeFile(path) else { return }
      draft.apply(ConfigurationFile(path: path, bytes: bytes))
    } catch {
      draft.note(error.description)
    }
  }
}
