// Comes before the program in the executable that is one file.
// A fork gets the path of its program as its first argument, which is the executable itself.
process.argv[1] = process.execPath;
if (process.argv[2] === process.execPath) process.argv.splice(2, 1);
{
  const { emitWarning } = process;
  // node:sqlite prints a warning at every start.
  process.emitWarning = (warning, type, ...others) => {
    const name = type && typeof type === 'object' ? type.type : type;
    if (name !== 'ExperimentalWarning') emitWarning.call(process, warning, type, ...others);
  };
}
