import { z } from 'zod';

// The sandbox is no place to compile code at run time. Imported before any schema is made: zod decides when it makes one.
z.config({ jitless: true });
