#!/usr/bin/env node
'use strict';

/** The command. A checkout has the TypeScript; the npm package has the JavaScript made of it. */

const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { run } = require('./node.cjs');

const source = join(__dirname, '..', 'src', 'main.ts');
const built = join(__dirname, '..', 'dist', 'main.js');
run(existsSync(source) ? source : built, process.argv.slice(2), __filename);
