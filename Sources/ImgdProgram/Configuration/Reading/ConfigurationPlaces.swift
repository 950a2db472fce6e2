internal import ImgdSystem

/// The places of a configuration: files, environment and command line.
package struct ConfigurationPlaces {
  private let file: String?
  private let isFileRequired: Bool
  private let environment: [String: String]
  private let settings: [CommandLineSetting]

  /// `named` is a file that must exist, in place of the usual one.
  package init(named: String?, usual: String?, environment: [String: String], settings: [CommandLineSetting]) {
    file = named ?? usual
    isFileRequired = named != nil
    self.environment = environment
    self.settings = settings
  }

  /// The usual file, its drop-in directory and the files in that, as far as they are there; none if a file was
  /// named, since that is not what a service reads.
  package var files: [String] {
    guard let file, !isFileRequired else { return [] }
    let names = (try? namesInDirectory(file + ".d", suffix: ".conf")) ?? []
    return [file, file + ".d"] + names.map { "\(file).d/\($0)" }
  }

  /// Reads all places; each overrides the one before.
  ///
  /// The error has the mistakes of all places; with any mistake there is no configuration. `warn` gets a line for
  /// each assignment that has no effect.
  package func read<Program: ProgramConfiguration>(over defaults: Program, warn: (String) -> Void)
    throws(ConfigurationProblems) -> Program
  {
    var draft = ConfigurationDraft(defaults: defaults)
    if let file { read(file, into: &draft) }
    ConfigurationEnvironment(environment).apply(to: &draft)
    for setting in settings {
      if let problem = setting.problem { draft.addProblem(problem) }
      if let assignment = setting.assignment { draft.apply(assignment) }
    }
    draft.remarks.forEach(warn)
    return try draft.finished()
  }

  /// Reads a file, and then the files in its drop-in directory, in the byte order of their names.
  private func read<Program>(_ path: String, into draft: inout ConfigurationDraft<Program>) {
    let dropIns: [String]
    do {
      if let bytes = try readWholeFile(path) {
        draft.apply(path: path, bytes)
      } else if isFileRequired {
        draft.addProblem("\(path): the file does not exist")
      }
      dropIns = try namesInDirectory(path + ".d", suffix: ".conf")
    } catch { return draft.addProblem(error.description) }
    for name in dropIns { readDropIn("\(path).d/\(name)", into: &draft) }
  }

  private func readDropIn<Program>(_ path: String, into draft: inout ConfigurationDraft<Program>) {
    do {
      // A file that was removed after the directory was read is no mistake.
      guard let bytes = try readWholeFile(path) else { return }
      draft.apply(path: path, bytes)
    } catch { draft.addProblem(error.description) }
  }
}
