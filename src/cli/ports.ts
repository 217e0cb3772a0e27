import { InvalidArgumentError } from 'commander';

/** An option's value as a port. */
export function port(value: string): number {
  const parsed = Number(value);
  if (!Number.isSafeInteger(parsed) || parsed < 1 || parsed > 65_535)
    throw new InvalidArgumentError('must be a port, 1 to 65535');
  return parsed;
}
