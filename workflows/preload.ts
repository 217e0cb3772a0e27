import { z } from 'zod';

// The sandbox is no place to compile code at run time. Said before any schema is made: zod decides when it makes one.
// Once: where it was preloaded, it is frozen.
if (!z.config().jitless) z.config({ jitless: true });
// What is preloaded is frozen for the workflows that share it, and zod sets up its messages with the first schema, its memory with the first array.
z.array(z.string());
