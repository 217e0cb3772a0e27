const MASK = '[masked]';

/** Shapes of secrets that are known by themselves. Each is bounded, so that no text makes them slow. */
const SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g,
  // JSON web tokens.
  /\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
  // Keys of model providers and payment services.
  /\b(?:sk|rk|pk)[-_][\w-]{16,}/g,
  // GitHub, GitLab, npm, PyPI, Hugging Face, DigitalOcean, Shopify.
  /\b(?:gh[oprsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_\w{30,}|pypi-[\w-]{40,}|hf_\w{20,}|do[opr]_v1_\w{20,}|shp(?:at|ca|pa|ss)_\w{20,})/g,
  // Slack, Matrix, Discord.
  /\b(?:xox[a-z]-[\w-]{10,}|xapp-[\w-]{10,}|sy[tlra]_\w{16,}|mat_\w{16,}|[MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{27,})/g,
  /\bhttps:\/\/(?:hooks\.slack\.com\/services|(?:\w{1,16}\.)?discord(?:app)?\.com\/api\/webhooks)\/[\w/-]+/g,
  // Amazon, Google, SendGrid.
  /\b(?:A(?:KI|SI)A[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,})/g,
];

/** Words after which, in `name = value` and the like, a secret stands. */
const NAMED =
  /([\w-]{0,40}(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)[\w-]{0,40}["']?\s{0,4}[:=]\s{0,4}["']?)(?!\[masked\])[^\s"'`,;&<>]{6,}/gi;
/** `Authorization: Bearer …`, and a bearer token in a sentence where it looks like one. */
const HEADER = /(\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?(?:[a-z]{1,20}\s{1,4})?)(?!\[masked\])[^\s"',;]{6,}/gi;
const BEARER = /(\bbearer\s{1,4})(?=\S*\d|\S{20})[\w.~+/=-]{8,}/gi;
/** `scheme://user:password@host`, also where the password holds an `@`. */
const URL_PASSWORD = /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/]{0,200}:)[^\s/]{1,500}@/gi;
/** `scheme://token@host`. */
const URL_TOKEN = /(\b[a-z][a-z0-9+.-]{1,20}:\/\/)[^\s:@/]{16,500}@/gi;

/**
 * Replaces secrets of common shapes: bearer tokens, keys of well-known services, private keys, passwords in URLs and after
 * names such as `password=`. It is a net with holes, no proof: agents must not post secrets in the first place.
 */
export function maskSecrets(text: string): string {
  let masked = text.replace(URL_PASSWORD, `$1${MASK}@`).replace(URL_TOKEN, `$1${MASK}@`);
  for (const shape of SHAPES) masked = masked.replace(shape, MASK);
  return masked.replace(HEADER, `$1${MASK}`).replace(BEARER, `$1${MASK}`).replace(NAMED, `$1${MASK}`);
}
