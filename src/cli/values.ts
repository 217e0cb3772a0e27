import { InvalidArgumentError } from 'commander';

/** An option's value as a port. */
export function port(value: string): number {
  const parsed = Number(value);
  if (!Number.isSafeInteger(parsed) || parsed < 1 || parsed > 65_535)
    throw new InvalidArgumentError('must be a port, 1 to 65535');
  return parsed;
}

/** Reads an option's value as a whole number of at least `min`. */
export function whole(min: number): (value: string) => number {
  return (value) => {
    const parsed = Number(value);
    if (value.trim() === '' || !Number.isSafeInteger(parsed) || parsed < min)
      throw new InvalidArgumentError(`must be a whole number >= ${min}`);
    return parsed;
  };
}

/** Reads an option's value as a number of at least `min`, and where it is given at most `max`; `what` names it in the error. */
export function number(
  min: number,
  max: number = Number.POSITIVE_INFINITY,
  what: string = 'a number',
): (value: string) => number {
  const range = max === Number.POSITIVE_INFINITY ? `>= ${min}` : `from ${min} to ${max}`;
  return (value) => {
    const parsed = Number(value);
    if (value.trim() === '' || !Number.isFinite(parsed) || parsed < min || parsed > max)
      throw new InvalidArgumentError(`must be ${what} ${range}`);
    return parsed;
  };
}
