import './live.js';
import './forms.js';
import './keys.js';
import { localize } from './locale.js';

/** The script of the console. Every screen works without it. */

localize(document);
