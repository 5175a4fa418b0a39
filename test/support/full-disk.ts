import fs from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/**
 * Loaded before the program: files in a folder take so many bytes more, as on a disk that becomes
 * full. What SQLite writes by itself is not seen here.
 */
const folder = process.env.FULL_DISK_FOLDER ?? '';
let room = Number(process.env.FULL_DISK_ROOM);
const full = () => Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
const files = new Set<number>();

const openSync = fs.openSync;
fs.openSync = ((path: fs.PathLike, flags: fs.OpenMode, mode?: fs.Mode) => {
  const file = openSync(path, flags, mode);
  if (String(path).startsWith(folder)) files.add(file);
  else files.delete(file);
  return file;
}) as typeof fs.openSync;

const writeSync = fs.writeSync as (...args: unknown[]) => number;
fs.writeSync = ((file: number, bytes: Buffer | string, ...rest: number[]) => {
  if (!files.has(file) || typeof bytes === 'string') return writeSync(file, bytes, ...rest);
  const [offset = 0, length = bytes.length, position] = rest;
  const taken = Math.min(length, room);
  if (taken === 0 && length > 0) throw full();
  room -= taken;
  return writeSync(file, bytes, offset, taken, position); // a part of it, as write(2) does
}) as typeof fs.writeSync;

const open = promises.open;
promises.open = (async (path: fs.PathLike, ...args: [string, number?]) => {
  const file = await open(path, ...args);
  if (!String(path).startsWith(folder)) return file;
  const writeFile = file.writeFile.bind(file);
  file.writeFile = async (content) => {
    room -= Buffer.byteLength(content as Buffer);
    if (room < 0) throw full();
    await writeFile(content);
  };
  return file;
}) as typeof promises.open;

syncBuiltinESMExports();
